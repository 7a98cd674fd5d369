"""Groups of resctrl: which ways of a cache, and how much memory bandwidth, cores may fill.

Documentation/filesystems/resctrl.rst. The default group, for all cores in no other, is the folder
itself; a new group is a folder in it. A file `schemata` has a line for each resource, in it a value
for each cache or memory controller: `L3:0=7ff;1=7ff`.
"""

import errno
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import cores_in, format_cpu_list
from taut.host.host import Host
from taut.host.setting import HALF_MADE
from taut.host.writer import Writer

RESCTRL = "/sys/fs/resctrl"

Schemata = Mapping[str, Mapping[str, str]]
"""By resource and number of the cache or controller."""


@dataclass(frozen=True)
class ResctrlSchemata:
    """The value is lines of the default group's schemata; it may name some resources alone."""

    kind: ClassVar[str] = "resctrl-schemata"

    @property
    def name(self) -> str:
        return f"{RESCTRL}/schemata"

    def read(self, host: Host) -> str | None:
        text = host.read(f"{RESCTRL}/schemata")
        return None if text is None else spell_schemata(read_schemata(text))

    def write(self, writer: Writer, value: str | None) -> None:
        """Write line by line: the kernel takes one resource at a time."""
        _write_schemata(writer, RESCTRL, value or "")

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare what the value names; other resources and caches are nobody's matter."""
        if in_force is None or value is None:
            return in_force is value
        return _holds(read_schemata(in_force), read_schemata(value))

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None


@dataclass(frozen=True)
class ResctrlGroup:
    """The value is the list of its cores, then lines of its schemata; None: there is no group."""

    kind: ClassVar[str] = "resctrl-group"

    group: str

    @property
    def name(self) -> str:
        return f"resctrl group {self.group}"

    def read(self, host: Host) -> str | None:
        """Give cores and schemata; a group without cores was never finished."""
        if not host.is_there(self._folder):
            return None
        cores = cores_in(host.read(f"{self._folder}/cpus_list"))
        if not cores:
            return HALF_MADE
        schemata = read_schemata(host.read(f"{self._folder}/schemata") or "")
        return f"{format_cpu_list(cores)}\n{spell_schemata(schemata)}"

    def write(self, writer: Writer, value: str | None) -> None:
        """Make it, or remove it: its cores then go back to the default group."""
        is_there = writer.host.is_there(self._folder)
        if value is None or value == HALF_MADE:
            if is_there:
                writer.remove_folder(self._folder)
            return
        cores, _, schemata = value.partition("\n")
        if not is_there:
            writer.make_folder(self._folder)
        try:
            # The cores last: they never run with ways that are not theirs.
            _write_schemata(writer, self._folder, schemata)
            writer.write_file(f"{self._folder}/cpus_list", f"{cores}\n")
        except OSError:
            with suppress(OSError):
                if not is_there:
                    writer.remove_folder(self._folder)
            raise

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare cores as sets, and what the value names of its schemata."""
        if in_force is None or value is None or HALF_MADE in (in_force, value):
            return in_force == value
        (ours, _, found), (theirs, _, wanted) = (v.partition("\n") for v in (in_force, value))
        same_cores = cores_in(ours) == cores_in(theirs)
        return same_cores and _holds(read_schemata(found), read_schemata(wanted))

    def unmovable(self, error: OSError) -> str | None:
        """Say so where the processor has no more groups."""
        return "no group left (info/*/num_closids)" if error.errno == errno.ENOSPC else None

    @property
    def _folder(self) -> str:
        return f"{RESCTRL}/{self.group}"


def read_schemata(text: str) -> Schemata:
    """Read lines such as `    L3:0=7ff;1=7ff`; values lose leading zeros."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        resource, _, values = line.strip().partition(":")
        pairs = [value.strip().partition("=") for value in values.split(";")]
        taken = {
            at.strip(): value.strip().lstrip("0") or "0" for at, is_one, value in pairs if is_one
        }
        if taken:
            found[resource] = taken
    return found


def spell_schemata(schemata: Schemata) -> str:
    """Write it as the kernel takes it: a line for each resource."""
    return "\n".join(
        f"{resource}:" + ";".join(f"{at}={value}" for at, value in values.items())
        for resource, values in schemata.items()
    )


def _holds(found: Schemata, wanted: Schemata) -> bool:
    return all(
        found.get(resource, {}).get(at) == value
        for resource, values in wanted.items()
        for at, value in values.items()
    )


def _write_schemata(writer: Writer, folder: str, lines: str) -> None:
    for line in lines.splitlines():
        writer.write_file(f"{folder}/schemata", f"{line}\n")
