"""loopback: no device under test. The generator's own path to itself is the instrument's floor."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.core.version import taut_version
from taut.dut.driver import DriverOptions, RunningHop
from taut.host.situation import Waiting
from taut.records.documents.load import LOOPBACK
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope


class LoopbackOptions(DriverOptions):
    """The loopback has no options; its link is the trial's."""


class _NoDevice:
    """Stands for a device where there is none."""

    gaps_file: Path | None = None
    stamps_file: Path | None = None
    died: str | None = None
    hops: tuple[RunningHop, ...] = ()
    pid: int | None = None

    def __init__(self) -> None:
        self.path = "from the generator to itself: the instrument's floor"
        self.notes: list[str] = []
        self.logs: list[Path] = []

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        return None

    def log_tail(self) -> list[str]:
        return []


class LoopbackDriver:
    """The null member of the family; open it with LinkKind.open_loopback."""

    name = LOOPBACK
    summary = "no device: the generator to itself, the instrument's floor"
    n_links = 0
    link_kinds = tuple(LINKS)
    options_type: type[DriverOptions] = LoopbackOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        return None

    def version(self) -> str:
        """Taut's own: the floor is the generator's."""
        return taut_version()

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return 0

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """It polls: there is only the generator, which polls."""
        return Waiting.POLLS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],  # noqa: ARG002 - an interface
        cores: CpuSet,  # noqa: ARG002
        options: DriverOptions,  # noqa: ARG002
        log_dir: Path,  # noqa: ARG002
        scope: RunScope,  # noqa: ARG002
    ) -> Iterator[_NoDevice]:
        yield _NoDevice()
