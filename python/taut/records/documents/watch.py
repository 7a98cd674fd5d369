"""What `taut watch --json` prints: one look at a trial under way."""

from collections.abc import Mapping
from dataclasses import dataclass

from taut.records.documents.soak import Latency

WATCH_FORMAT = 1


@dataclass(frozen=True)
class Stretch:
    """What was counted in some time."""

    length_ns: int
    counters: Mapping[str, int]
    latency: Latency
    on_time: Latency
    """Of packets that the generator itself did not hold up."""
    n_gaps: int
    gaps_ns: int


@dataclass(frozen=True)
class WatchDocument:
    """One look: the trial so far, and since the look before."""

    trial: str
    n_done: int
    """Trials of the run that have ended."""
    elapsed_ns: int
    """Since the end of the warm-up; below 0 in it."""
    duration_ns: int | None
    """None: until it has sent a number of packets."""
    whole: Stretch
    since: Stretch | None
    """None: it is the first look."""
    format: int = WATCH_FORMAT
