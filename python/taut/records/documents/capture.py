"""A pair of captures: what `taut analyze --json` prints, and what results.json has of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.content import ContentSearch
from taut.records.documents.figures import Blocks, Figures, Interval
from taut.records.documents.json_field import INLINE, LEFT_OUT, rest
from taut.records.documents.json_field import key as named

MOST_DRIFT_PPB = 200_000
"""Two clocks part no faster, in ns a second: IEEE 802.3 (40.6.1.2.6) allows the crystal at either
end of a link to be 100 ppm off."""


@dataclass(frozen=True)
class BothSides:
    """Frames of either file."""

    ingress: int
    egress: int


@dataclass(frozen=True)
class Classes:
    """Frames by class; docs/matching.md defines them."""

    matched: int
    lost: int
    duplicate_keys: int
    duplicates: int
    orphans: int
    negative: int
    beyond_window: int
    out_of_sequence: int
    ambiguous: BothSides


@dataclass(frozen=True)
class ClockEstimate:
    """The straight line below all latencies over time; None where too few packets show one."""

    drift_ppb: float | None
    """How much faster the egress clock runs, or how fast a queue fills, in ns a second."""
    drift_uncertainty_ppb: float | None
    offset_ns: int | None = field(metadata=named("offset_plus_least_latency_ns"))
    """Offset of the clocks plus the path's least latency: captures cannot tell the two apart."""
    offset_uncertainty_ns: int | None
    n_points: int
    method: str = "lower envelope"

    @property
    def is_drift_shown(self) -> bool:
        """Whether the drift is larger than its uncertainty."""
        return (
            self.drift_ppb is not None
            and self.drift_uncertainty_ppb is not None
            and abs(self.drift_ppb) > self.drift_uncertainty_ppb
        )

    @property
    def is_beyond_clocks(self) -> bool:
        """Whether the drift is larger than that of any two clocks: a queue fills, or empties."""
        return (
            self.drift_ppb is not None
            and self.drift_uncertainty_ppb is not None
            and abs(self.drift_ppb) - self.drift_uncertainty_ppb > MOST_DRIFT_PPB
        )


@dataclass(frozen=True)
class CaptureResult:
    """The block `capture` of a trial's result."""

    classes: Classes = field(metadata=INLINE)
    truncated: BothSides
    transfer_rate: float | None
    clocks: ClockEstimate
    key: str
    window_ns: int
    skip_ns: int
    content: ContentSearch | None = None
    """None: not searched by content."""
    together_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideOfCapture:
    """One of the two files."""

    path: str
    frames: int
    truncated: int
    """Frames too short for the key, or with the key "probe" no probes; a last record cut off."""
    first_ns: int | None
    last_ns: int | None
    """First and last are None where there are no frames."""
    too_short_for_key: int
    """With the key "probe" also what is no probe."""
    cut_off: int
    snapped: int
    backwards: int
    dropped: int
    """Packets that whoever captured dropped, as the file says (pcapng); 0 also where it cannot."""
    format: str
    compression: str
    resolution_ns: int | None = None
    """The greatest divisor of 1 s that divides every time stamp of the file; None: no frames."""


@dataclass(frozen=True)
class HistogramDocument:
    """Packets by latency; empty bins are left out."""

    bin_ns: int = field(metadata=named("bin"))
    counts: tuple[tuple[int, int], ...]
    """For each bin its lower edge in ns and its number of packets."""


@dataclass(frozen=True)
class CaptureDocument:
    """What `taut analyze --json` prints."""

    ingress: SideOfCapture
    egress: SideOfCapture
    classes: Classes = field(metadata=INLINE)
    skipped_warmup: int
    transfer_rate: float | None
    latency: Figures = field(metadata=named("latency_ns"))
    unsupported_percentiles: tuple[str, ...]
    histogram: HistogramDocument = field(metadata=named("histogram_ns"))
    metrics: Mapping[str, Figures] = field(metadata=rest(suffix="_ns"))
    """The metrics that have no field of their own, by name without `_ns`."""
    clocks: ClockEstimate
    key: str
    window_ns: int
    skip_ns: int
    egress_offset_ns: int
    egress_drift_ppb: float
    warnings: tuple[str, ...]
    confidence_intervals: Mapping[str, Interval] | None = field(default=None, metadata=LEFT_OUT)
    blocks: Blocks | None = field(default=None, metadata=LEFT_OUT)
    content: ContentSearch | None = None
    """None: not searched by content."""
    run: str | None = field(default=None, metadata=LEFT_OUT)
    """The run directory that was written, if one was asked for."""
