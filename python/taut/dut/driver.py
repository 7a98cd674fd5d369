"""What a driver of a device under test is. Members are listed in dut/drivers."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict

from taut.core.cpus import CpuSet
from taut.core.files import whole_path
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


class DriverOptions(BaseModel):
    """Options of one driver: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def example(cls) -> Self:
        """Give options to ask with where nobody gave any: what is missing, what is described."""
        return cls()

    @property
    def waits_for_more(self) -> bool:
        """Whether the device holds packets until more come, for however long that takes.

        What it held while the generator stood still is then void.
        """
        return False

    @property
    def told_version(self) -> str | None:
        """The device's version, where the options say it; None: the driver knows it."""
        return None

    @property
    def program(self) -> str | None:
        """The user's program that the device is, which a place may have; None: no such one."""
        return None

    @property
    def n_cores(self) -> int:
        """How many cores the device polls on where there are enough; 1: it is no chain."""
        return 1

    def peer_rx_queues(self, link: str) -> int:
        """Give how many receive queues the generator's ports need to get all that it sends."""
        del link
        return 1

    def stamping(self, n_packets: int) -> Self:
        """Give the same options for a trial of about so many packets, 0: not all are recorded.

        What stamps packets on their way says here how many of them.
        """
        del n_packets
        return self

    def logging(self, n_gaps: int) -> Self:
        """Give the same options for a trial in which each process logs so many gaps at most.

        What logs none has nothing to bound.
        """
        del n_gaps
        return self

    @property
    def n_gap_logs(self) -> int:
        """How many of its processes log their gaps, bounded or not."""
        return 0

    @property
    def stamps_per_packet(self) -> float:
        """How many stamps the device writes for each packet, as it is told to (`stamping`)."""
        return 0.0

    def refuses_link(self, link: str) -> str | None:
        """Say why a device with these options cannot use a link of its driver's; None: it can."""
        del link
        return None

    def refuses_placement(self, kind: str) -> str | None:
        """Say why a device with these options cannot be placed so; None: it is processes."""
        del kind
        return None

    def refuses_cores(self, cores: CpuSet, host: Host) -> str | None:
        """Say why a device with these options cannot work on these cores; None: it can."""
        del cores, host
        return None

    def refuses_memory(self, free_bytes: int) -> str | None:
        """Say why a device with these options wants too much of so much memory; None: it fits."""
        del free_bytes
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the options name: the manifest has their hashes."""
        return ()

    @property
    def programs(self) -> tuple[Path, ...]:
        """The user's own program on this host, and files of here that it is given.

        The manifest has their hashes, too; a run that goes on with others says so.
        """
        return ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Spell options, not yet validated, so that the files in them are found from any folder.

        The experiment gives them as seen from its own; of most drivers, options name no files.
        """
        del folder
        return dict(options)


def with_whole_path(folder: Path, options: Mapping[str, object], key: str) -> dict[str, object]:
    """Give options with the whole path of the one file that they name, if they do."""
    name = options.get(key)
    if not isinstance(name, str) or not name:
        return dict(options)
    return {**options, key: whole_path(folder, name)}


class RunningDut(Protocol):
    """A device under test that takes packets; stop() twice is one stop."""

    path: str  # the packet path in words, for the report
    notes: list[str]  # how it was placed, what was refused
    logs: list[Path]
    pid: int | None  # None: the device is the kernel, or there is none; of a chain, its first hop's
    # Once stopped: how it had ended before that, after a measurement to the end; of a chain, whose
    # hops say so of themselves, how its switch had.
    died: str | None
    hops: "tuple[RunningHop, ...]"  # of a chain, in the order of direction 0; else empty

    @property
    def gaps_file(self) -> Path | None:
        """The device's own gap log (record_format.h); whole after stop()."""
        ...

    @property
    def stamps_file(self) -> Path | None:
        """When packets came and left (record_format.h), whole after stop(); None: not stamped."""
        ...

    def alive(self) -> bool:
        """Whether the device still forwards; false after it died."""
        ...

    def stop(self) -> DutStats | None:
        """Stop it and give its own counters; None when it has none."""
        ...

    def log_tail(self) -> list[str]:
        """Give the last lines it wrote: why it died, if it did."""
        ...


class RunningHop(NamedTuple):
    """One process of a chain. Its log of gaps and its counters are its own device's."""

    name: str
    core: int
    device: RunningDut


def processes_of(dut: RunningDut) -> list[int]:
    """Give the ids of a device's processes; empty where it has none."""
    pids = [hop.device.pid for hop in dut.hops] or [dut.pid]
    return [pid for pid in pids if pid is not None]


def watched_of(dut: RunningDut) -> list[int]:
    """Give the ids of all processes without which no packet comes through: a switch's, too."""
    # Only a chain has one; devices of plug-ins need not know of it.
    switch: int | None = getattr(dut, "switch_pid", None)
    return [*processes_of(dut), *([] if switch is None else [switch])]


class DutDriver(Protocol):
    """How one kind of device is started, watched and stopped."""

    @property
    def name(self) -> str:
        """The word in an experiment file."""
        ...

    @property
    def summary(self) -> str:
        """One line for the documentation."""
        ...

    @property
    def n_links(self) -> int:
        """Links it stands between: 2, or 0 for the loopback (LinkKind.open_loopback)."""
        ...

    @property
    def link_kinds(self) -> tuple[str, ...]:
        """Links it can use, the preferred one first."""
        ...

    @property
    def options_type(self) -> type[DriverOptions]:
        """The model its options are validated with."""
        ...

    def missing(self, options: DriverOptions) -> str | None:
        """Say what this machine lacks and the remedy; None when the device can run."""
        ...

    def version(self) -> str:
        """Version of the device, as results name it."""
        ...

    def hugepages(self, options: DriverOptions) -> int:
        """Give the hugepages of 2 MB the device wants from RunScope.add_hugepages."""
        ...

    def waits(self, options: DriverOptions) -> Waiting:
        """Say what the device does while no packet comes: look again, or sleep until woken."""
        ...

    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> AbstractContextManager[RunningDut]:
        """Start it; entered when its ports are ready, stopped on exit."""
        ...
