"""soak.json: what a soak found; and what a soak keeps on its way, in RUN/soak/TRIAL.

A segment is one measurement without a break: one device, one generator. segment.json says when it
began, rows.jsonl has a line for each row; both outlive a kill and a reboot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

SOAK_FILE = "soak.json"
SOAK_FORMAT = 1
SOAK_FOLDER = "soak"
SEGMENT_FILE, ROWS_FILE, WHOLE_FILE = "segment.json", "rows.jsonl", "whole.npz"

SHARES: Mapping[str, float] = {
    "p50": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99.9": 0.999,
    "p99.99": 0.9999,
}
"""Percentiles of a row and of the whole."""


@dataclass(frozen=True)
class Latency:
    """Service latencies of packets that came back."""

    n: int
    percentiles_ns: Mapping[str, int | None]
    """None: no packet came back."""
    max_ns: int | None


@dataclass(frozen=True)
class Row:
    """What was counted in one stretch of a segment; the rows of a segment follow each other."""

    n: int
    """From 0 in its segment."""
    start_ns: int
    end_ns: int
    """Since the end of the warm-up, by the generator's clock."""
    counters: Mapping[str, int]
    """Packets: due, sent, unsent, lost, void, ... of this row; of the warm-up's none."""
    latency: Latency
    on_time: Latency
    """Of packets that the generator itself did not hold up."""
    above: Mapping[str, int]
    """Of all packets those slower than so many ns; where that is itself too slow, as slow, too."""
    above_on_time: Mapping[str, int]
    memory_bytes: Mapping[str, int]
    """Resident memory by program: of taut and of all that it started."""
    n_gaps: int
    gaps_ns: int
    took_ns: int
    """How long it took to read what was counted: its packets belong to this row or to the next."""
    notes: tuple[str, ...] = ()
    max_at_ns: int | None = None
    """When the slowest packet came back; None: it was not recorded."""
    sum_ns: float | None = None
    """All latencies added up, less than 0.01 % too small; None: of an older taut."""


@dataclass(frozen=True)
class SegmentStart:
    """segment.json: what one segment measures, and when it began."""

    trial: str
    device: str
    is_control: bool
    started_utc: str
    tsc_hz: int
    warm_up_ns: int
    planned_ns: int
    every_ns: int
    exact_bits: int
    """Of the histogram's buckets (dataplane/base/histogram.h)."""
    sub_bits: int
    format: int = SOAK_FORMAT


Ended: TypeAlias = Literal["whole", "stopped", "failed", "killed"]
"""How a segment ended: as planned, early and on purpose, by a failure, or without a word."""


@dataclass(frozen=True)
class Segment:
    """One measurement without a break."""

    start: SegmentStart
    ended: Ended
    why: str | None
    """Why it ended before its time; None: it did not, or nobody was left to say."""
    rows: tuple[Row, ...]

    @property
    def measured_ns(self) -> int:
        """How long it measured, as far as is known."""
        return self.rows[-1].end_ns if self.rows else 0


@dataclass(frozen=True)
class Trend:
    """Whether a figure grew or shrank from row to row."""

    of: str
    n_rows: int
    verdict: Literal["none", "increasing", "decreasing", "too few rows"]
    p_value: float | None
    """Of Mann-Kendall's test, the mean over models of how rows resemble those before."""
    per_hour: float | None
    """Theil and Sen's slope; ns or bytes an hour."""
    median: float | None


@dataclass(frozen=True)
class Clean:
    """The longest stretch of rows without a failure."""

    rule: str
    longest_ns: int
    starts_ns: int | None
    """Measured time before it; None: no row was clean."""
    n_clean: int
    n_rows: int


@dataclass(frozen=True)
class CausesOfHour:
    """Why the slow packets of one hour were late, by cause: time they waited for it."""

    hour: int
    """Of measured time, from 0."""
    n_explained: int
    by_cause: Mapping[str, int]
    """ns by cause, the largest first."""


@dataclass(frozen=True)
class Beyond:
    """What is to be expected in a longer time, extrapolated; never measured."""

    refused: str | None
    """Why nothing is said; None: something is."""
    n_blocks: int = 0
    """Stretches of time of one length, each with the slowest packet that the generator did not hold
    up."""
    block_ns: int | None = None
    location_ns: float | None = None
    """Of the generalised extreme value distribution of these; a shape above 0 has a heavy tail."""
    scale_ns: float | None = None
    shape: float | None = None
    p_value: float | None = None
    """Of the fit (Anderson-Darling, by simulation)."""
    levels_ns: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """By length of time: what is reached once on average, and the ends of its 95 % interval."""


@dataclass(frozen=True)
class Judgement:
    """One requirement, judged over all rows."""

    rule: str
    verdict: Literal["pass", "fail", "inconclusive", "invalid"]
    said: str


@dataclass(frozen=True)
class Course:
    """One device, or the control, through all its segments."""

    device: str
    segments: tuple[Segment, ...]
    measured_ns: int
    counters: Mapping[str, int]
    latency: Latency
    """From the histograms of all segments, merged."""
    on_time: Latency
    trends: tuple[Trend, ...]
    clean: tuple[Clean, ...]
    causes: tuple[CausesOfHour, ...]
    """Of segments that have records: of one that was killed only the rows are left."""
    beyond: Beyond | None


@dataclass(frozen=True)
class SoakDocument:
    """What a soak found."""

    name: str
    planned_ns: int
    every_ns: int
    course: Course
    control: Course | None
    verdicts: tuple[Judgement, ...]
    stopped: str | None
    """Why it ended before its time; None: it did not."""
    notes: tuple[str, ...]
    format: int = SOAK_FORMAT

    @property
    def is_short(self) -> bool:
        """Whether less was measured than planned, by more than a second."""
        return self._is_short(self.course)

    @property
    def is_control_short(self) -> bool:
        """Whether less of the control was measured than planned; one without a row is not known."""
        return self.control is not None and self._is_short(self.control)

    def _is_short(self, course: Course) -> bool:
        return course.measured_ns < self.planned_ns - 1_000_000_000
