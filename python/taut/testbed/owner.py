"""owner.json: who owns a run's folder, and what must be undone when the owner is dead.

A process is known by pid and start time, so that a pid used again is not mistaken for the owner;
the boot id says whether both still mean anything. An owner in another PID namespace (a container
that shares /run) cannot be looked up: it counts as alive.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.processes import process_start_time
from taut.records.documents.json_form import parse, plain_object, read_json

OWNER_FILE = "owner.json"
OWNER_FORMAT = 1
_PROC = Path("/proc")


@dataclass(frozen=True)
class HugepageGrant:
    """Hugepages a run added. `added` is None until the kernel's answer has been noted."""

    path: str  # the nr_hugepages file written
    before: int
    asked: int
    added: int | None
    found: int | None = None  # what of `before` no run had added; None: by a taut without this
    near: str | None = None  # the nr_hugepages of one node, which gives first; None: all alike
    by_node: Mapping[str, int] | None = None  # what each nr_hugepages of a node gave; None: unknown

    @property
    def base(self) -> int:
        """What the count is without the pages that runs have added."""
        return self.before if self.found is None else self.found


@dataclass(frozen=True)
class Owner:
    """The content of owner.json."""

    run_id: str
    pid: int
    start_time: int
    boot_id: str
    hugepages: tuple[HugepageGrant, ...] = ()
    temporary: tuple[str, ...] = ()
    pid_namespace: str = ""  # empty: written by a taut that did not record it

    def is_alive(self) -> bool:
        """Whether the process that wrote this still runs."""
        if not self.booted_here():
            return False
        if self.pid_namespace not in {"", pid_namespace()}:
            return True
        return process_start_time(self.pid) == self.start_time

    def booted_here(self) -> bool:
        """Whether the machine still runs the boot this was written in."""
        return self.boot_id == boot_id()

    def write(self, folder: Path) -> Self:
        """Write owner.json, whole or not at all, and give the owner back."""
        write_json(folder / OWNER_FILE, {"format": OWNER_FORMAT, **plain_object(self)})
        return self


def owner_of(run_id: str, pid: int) -> Owner:
    """Describe a living process as owner."""
    start_time = process_start_time(pid)
    if start_time is None:
        raise ProcessLookupError(f"process {pid} is not there")
    return Owner(run_id, pid, start_time, boot_id(), pid_namespace=pid_namespace())


def read_owner(folder: Path) -> Owner | None:
    """Read owner.json; None when it is missing or not understood.

    Keys of another version of taut are ignored: runs of two versions clean up after each other.
    """
    try:
        document = read_json(folder / OWNER_FILE)
        if not isinstance(document, dict) or document.get("format") != OWNER_FORMAT:
            return None
        return parse(Owner, document, OWNER_FILE)
    except (OSError, InputError):
        return None


def temporary_mark(folder: Path, run_id: str) -> Path:
    """Give the file that marks a temporary folder as that run's; cleanup deletes no other."""
    return folder / f".taut-{run_id}"


def boot_id() -> str:
    """Give the kernel's name of this boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def pid_namespace() -> str:
    """Give the kernel's name of the namespace this process's pids are from."""
    return str((_PROC / "self/ns/pid").readlink())
