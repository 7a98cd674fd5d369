"""What a placement is: where a device runs. Members are listed in testbed/placements.

A placement is entered for one trial of one device. While the driver starts the device, all that it
starts by `child` (testbed/process.py) is started by the place that was entered: a driver has no
code for placements. What a place makes carries the run's id, so that cleanup.py finds it after a
crash; leaving it undoes it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from taut.core.cpus import CpuSet
from taut.records.documents.trial import BARE
from taut.testbed.program import Place
from taut.testbed.scope import RunScope

__all__ = ["BARE", "PlacementKind", "PlacementOptions", "Tenant"]


class PlacementOptions(BaseModel):
    """Options of one placement: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Spell options, not yet validated, so that the files in them are found from any folder."""
        del folder
        return dict(options)

    def has_program(self, program: str) -> bool:
        """Whether the place has a program of its own, by its path or on its PATH."""
        del program
        return False

    @property
    def gaps_most(self) -> int | None:
        """How many gaps a program's log has room for there; None: as many as the disk has."""
        return None


@dataclass(frozen=True)
class Tenant:
    """The device that is to be placed: one driver's, in one trial."""

    driver: str
    link: str  # the kind of its links
    cores: CpuSet  # of its own
    housekeeping: CpuSet  # where what else its processes do may run: taut's own
    files: tuple[Path, ...]  # what its options name: it reads them
    log_dir: Path  # where it writes


class PlacementKind(Protocol):
    """One kind of place."""

    @property
    def name(self) -> str:
        """The word in an experiment file."""
        ...

    @property
    def summary(self) -> str:
        """One line for the documentation."""
        ...

    @property
    def options_type(self) -> type[PlacementOptions]:
        """The model its options are validated with."""
        ...

    @property
    def enter_ns(self) -> int:
        """About how long it takes to enter and leave one, for the guess of a run's time."""
        ...

    def refuses(self, driver: str, link: str, options: PlacementOptions) -> str | None:
        """Say why a driver's device, over a link, cannot be placed there; None: it can."""
        ...

    def missing(self, options: PlacementOptions) -> str | None:
        """Say what this machine lacks and the remedy; None when the place can be entered."""
        ...

    def version(self, options: PlacementOptions) -> str | None:
        """Name the version of what makes the place, as results have it; None: nothing does."""
        ...

    def entered(
        self, options: PlacementOptions, tenant: Tenant, scope: RunScope
    ) -> AbstractContextManager[Place | None]:
        """Make the place ready; gone on exit. It gives None where that is the host itself."""
        ...
