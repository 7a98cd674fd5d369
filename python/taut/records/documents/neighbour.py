"""What a neighbour did during a trial, by its own counters and the kernel's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

IDLE_NEIGHBOUR = "idle"
"""What trials are called that had no neighbour, where others had one."""


@dataclass(frozen=True)
class WorkOfStressor:
    """What one stressor did from its start to its end, as stress-ng counts it."""

    stressor: str
    n_operations: int = 0
    """Bogo operations: of this stressor, and comparable with its own alone."""
    elapsed_ns: int = 0
    user_ns: int = 0
    system_ns: int = 0
    max_rss_kib: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    """What else it says of itself, by its own names: cache operations a second, MB/s."""


@dataclass(frozen=True)
class NeighbourOfTrial:
    """Who else was busy while a trial was measured."""

    name: str
    kind: str
    cores: tuple[int, ...] = ()
    n_workers: int = 1
    """Of each stressor on each core."""
    program: str | None = None
    elapsed_ns: int = 0
    """How long it was watched: from before the generator's start until after its end."""
    cpu_ns: int = 0
    """Processor time of all its threads meanwhile."""
    written_bytes: int = 0
    """Bytes that it sent to disks meanwhile."""
    work: tuple[WorkOfStressor, ...] = ()

    @property
    def cpu_share(self) -> float:
        """The share of one core it took; above 1 where its threads took several."""
        return self.cpu_ns / self.elapsed_ns if self.elapsed_ns else 0.0
