"""results.json and summary.json: what analysis found of a run's trials and of its variants.

results.json is {"format": 2, "trials": [...]}; before 2 it was the list alone, which is still read.
summary.json has what belongs to the run: the verdict, and repetitions pooled to variants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from taut.records.documents.budget import Budget
from taut.records.documents.capture import CaptureResult
from taut.records.documents.explanation import ExplanationDocument
from taut.records.documents.figures import NO_FIGURES, Doubt, Figures
from taut.records.documents.generator import Counters, DeviceUse, Energy
from taut.records.documents.json_field import INLINE, LEFT_OUT, rest
from taut.records.documents.json_form import Json, parse, plain_object, read_json, refuse_newer
from taut.records.documents.load import Device, Load
from taut.records.documents.trial import WHOLE, CoresOfTrial, Failure, TraceOfTrial

RESULTS_FILE = "results.json"
SUMMARY_FILE = "summary.json"
RESULTS_FORMAT = 2
"""Of both documents. Since 2 results.json is an object, and confidence intervals and support of a
percentile count stalls, not packets."""

Packets: TypeAlias = Literal["latency_ns", "latency_without_void_ns"]
"""The packets of a figure: all after the warm-up, or those no gap of the generator touched."""

WITH_VOID: Packets = "latency_ns"
WITHOUT_VOID: Packets = "latency_without_void_ns"


@dataclass(frozen=True)
class Metrics:
    """Every metric with a distribution, by its name; keys end in `_ns`."""

    without_void: Mapping[str, Figures] = field(
        default_factory=dict, metadata=rest(suffix="_without_void_ns")
    )
    """The same metrics of the packets that no gap of the generator touched."""
    all_packets: Mapping[str, Figures] = field(
        default_factory=dict,
        metadata=rest(suffix="_ns", promised=("latency", "latency_from_intent", "jitter")),
    )

    def latency(self, packets: Packets = WITH_VOID) -> Figures:
        """Latency from the moment a packet was sent; NO_FIGURES where none came back."""
        figures = self.all_packets if packets == WITH_VOID else self.without_void
        return figures.get("latency", NO_FIGURES)


@dataclass(frozen=True)
class WarmCounts:
    """Packets that were due after the warm-up."""

    due: int
    sent: int
    unsent: int
    matched: int
    lost: int
    void: int
    lost_void: int | None = None
    """Of lost, those that a gap of the generator may have lost; None: nobody counted them."""

    @property
    def on_time(self) -> int:
        """Those that the generator was on time with, whatever became of them."""
        return self.due - self.void


@dataclass(frozen=True)
class ColdCounts:
    """Packets that were due in the warm-up; None where an older trial did not split them."""

    due: int | None
    sent: int | None
    unsent: int | None
    matched: int | None
    lost: int | None
    void: int | None


@dataclass(frozen=True)
class GapOverlap:
    """How many logged gaps of a thread an episode overlaps, and for how long."""

    n: int
    overlap_ns: int


@dataclass(frozen=True)
class EpisodeOfTrial:
    """Late packets in a row: one event."""

    direction: int
    start_ns: int
    duration_ns: int
    depth_ns: int
    """The greatest latency in it."""
    first_seq: int
    packets: int
    late: int
    lost: int
    unsent: int
    void_packets: int
    void: Literal["none", "some", "all"]
    due_ns: int | None = None
    """When its first packet was due; None: captures do not say."""
    end_ns: int | None = None
    gaps: Mapping[str, GapOverlap] = field(default_factory=dict)
    """By name of the polling thread: generator, forwarder."""


@dataclass(frozen=True)
class Episodes:
    """All episodes of a trial, and the longest ones."""

    threshold_ns: int
    n: int
    packets: int
    lost: int
    unsent: int
    touched_by_void: int
    all_void: int
    longest_ns: int
    deepest_ns: int
    loss_bursts: int
    """Runs of lost packets with no late packet beside them; they are no episodes."""
    longest_loss_burst: int
    worst: tuple[EpisodeOfTrial, ...]


@dataclass(frozen=True)
class TrialFigures:
    """The numbers of a whole trial. Counters are of all of it, the warm-up included."""

    sent: int
    due: int
    unsent: int
    received: int
    matched: int
    lost: int
    late: int
    """Came back after the deadline."""
    duplicates: int
    orphans: int
    out_of_sequence: int
    void: int
    """Packets whose latency a gap of the generator may have changed (docs/measuring.md)."""
    offered_pps: float
    achieved_pps: float
    sums_reconcile: bool
    sums_failures: tuple[str, ...]
    loss_ratio: float
    """Share of packets lost, 0 to 1, after the warm-up; `void_share` is of the same packets."""
    void_share: float
    instrument_limited: bool
    rate_ok: bool
    warm: WarmCounts
    cold: ColdCounts
    every_packet: bool
    """Whether every packet was recorded; if not, figures come from histograms."""
    resolution: str
    doubt: Doubt = field(metadata=INLINE)
    metrics: Metrics = field(metadata=INLINE)
    cold_metrics: Metrics
    unsupported_percentiles_without_void: tuple[str, ...]
    loss_ratio_at_most: float | None = None
    """With 95 % confidence; None: nobody knows how many losses came together."""
    foreign: int = 0
    sent_late: int | None = None
    granted_ns: int | None = None
    """The longest stall that may have passed as work of the generator's ports."""
    directions: tuple[Counters, ...] = ()
    by_direction: Mapping[str, Metrics] | None = field(default=None, metadata=LEFT_OUT)
    episodes: Episodes | None = None


@dataclass(frozen=True)
class TrialResult:
    """One trial: its load and device and, unless it failed, its numbers."""

    name: str
    index: int | None = None
    repetition: int | None = None
    started_utc: str | None = field(default=None, metadata=LEFT_OUT)
    """A trial that a resumed run measured keeps its index, but not this; None: older results."""
    status: str | None = None
    failure: Failure | None = None
    device: Device = field(default_factory=Device, metadata=INLINE)
    not_kept: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Settings of its state that somebody else changed meanwhile: it is of no state; else None."""
    notes: tuple[str, ...] = ()
    load: Load = field(default_factory=Load, metadata=INLINE)
    figures: TrialFigures | None = field(default=None, metadata=INLINE)
    """The trial's numbers; None: it failed."""
    offered_pps: float | None = None
    """The rate the generator offered; of a failed trial, the rate asked for. Hides the figures'."""
    duration_ns: int | None = None
    cores: CoresOfTrial | None = None
    trace: TraceOfTrial | None = None
    floor: Figures | None = field(default=None, metadata={"key": "floor_ns"})
    """Latency of the same load with no device in its path."""
    warnings: tuple[str, ...] = ()
    capture: CaptureResult | None = field(default=None, metadata=LEFT_OUT)
    explanation: ExplanationDocument | None = field(default=None, metadata=LEFT_OUT)
    """Why packets were late; None where it was not traced, or not every packet was recorded."""
    budgets: tuple[Budget, ...] | None = field(default=None, metadata=LEFT_OUT)
    """What each hop and link holds of the latency; None where they stamp no packets."""
    device_use: DeviceUse | None = field(default=None, metadata=LEFT_OUT)
    """What the device took of its core."""
    energy: Energy | None = field(default=None, metadata=LEFT_OUT)
    """What the processor's packages took, or why that cannot be read."""

    @property
    def is_whole(self) -> bool:
        """Whether the trial ended as planned; it has figures if it counted anything at all."""
        return self.status == WHOLE

    @property
    def measured(self) -> TrialFigures:
        """Its numbers; only ask where `figures` is not None."""
        assert self.figures is not None, f"{self.name}: has no figures"
        return self.figures

    def latency(self, packets: Packets = WITH_VOID) -> Figures:
        """Service latency of a trial that has figures."""
        return self.measured.metrics.latency(packets)


@dataclass(frozen=True)
class WarmUp:
    """What the warm-up of a variant did: nothing of it is in the variant's own numbers."""

    due: int | None
    sent: int | None
    unsent: int | None
    matched: int | None
    lost: int | None
    void: int | None
    latency: Figures = field(metadata={"key": "latency_ns"})
    doubt: Doubt = field(metadata=INLINE)
    loss_ratio_at_most: float | None = None


@dataclass(frozen=True)
class DirectionOfVariant:
    """What went one way, in a variant that loads both: packets due after the warm-up."""

    direction: int
    """0: from the first port to the second; 1: back."""
    due: int
    sent: int
    unsent: int
    matched: int
    lost: int
    void: int
    latency: Figures = field(metadata={"key": "latency_ns"})
    doubt: Doubt = field(metadata=INLINE)
    loss_ratio_at_most: float | None


@dataclass(frozen=True)
class Variant:
    """One device under one load in one state of the host, its repetitions pooled."""

    device: Device = field(metadata=INLINE)
    load: Load = field(metadata=INLINE)
    is_floor: bool
    """Whether it is the path with no device in it."""
    trials: tuple[str, ...]
    due: int
    sent: int
    unsent: int
    matched: int
    lost: int
    void: int
    """From `due` to `void` packets due after the warm-up; the next five counters include it."""
    received: int
    late: int
    duplicates: int
    orphans: int
    out_of_sequence: int
    offered_pps: float
    achieved_pps: float
    void_share: float
    loss_ratio: float
    granted_ns: int | None
    instrument_limited: bool
    rate_ok: bool
    sums_reconcile: bool
    doubt: Doubt = field(metadata=INLINE)
    loss_ratio_at_most: float | None
    unsupported_percentiles_without_void: tuple[str, ...]
    metrics: Metrics = field(metadata=INLINE)
    warm_up: WarmUp
    p50_of_repetitions: tuple[int | None, ...]
    two_bands: bool
    """Whether medians of its repetitions differ more than chance explains (has_two_bands)."""
    floor: Figures | None = field(default=None, metadata={"key": "floor_ns"})
    directions: tuple[DirectionOfVariant, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Each by itself, where both were loaded."""
    budgets: tuple[Budget, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Those of its trials, of all their packets; None where none has any."""
    lost_void: int | None = field(default=None, metadata=LEFT_OUT)
    """Of lost, those that a gap of the generator may have lost; None: nobody counted them."""

    @property
    def latency(self) -> Figures:
        """Service latency of all packets after the warm-up."""
        return self.metrics.latency()

    @property
    def refused(self) -> int:
        """Packets that the link refused although the generator was on time with them."""
        # What is void is back, lost, or was refused itself.
        n_back = self.latency.n - self.metrics.latency(WITHOUT_VOID).n
        return max(0, self.unsent - max(0, self.void - n_back - (self.lost_void or 0)))

    @property
    def called(self) -> str:
        """The device's name; the floor has none."""
        return "floor" if self.is_floor else str(self.device.dut)


@dataclass(frozen=True)
class EpisodeThreshold:
    """How the latency is worked out above which a packet is late."""

    factor_of_p50: int
    least_above_p50_ns: int


@dataclass(frozen=True)
class MetricDefinition:
    """A metric's unit and what it is."""

    unit: str
    definition: str


@dataclass(frozen=True)
class Analysis:
    """A run that was analysed."""

    verdict: str
    variants: tuple[Variant, ...]
    episode_threshold: EpisodeThreshold
    definitions: Mapping[str, MetricDefinition]
    n_failed: int
    trials: tuple[TrialResult, ...] = ()
    format: int = RESULTS_FORMAT

    def trials_of(self, variant: Variant) -> list[TrialResult]:
        """The repetitions of a variant."""
        return [trial for trial in self.trials if trial.name in variant.trials]


@dataclass(frozen=True)
class Verdict:
    """The part of summary.json that `taut runs` shows."""

    verdict: str


@dataclass(frozen=True)
class Results:
    """The trials of a run: results.json."""

    trials: tuple[TrialResult, ...]
    format: int = RESULTS_FORMAT


def summary_document(analysis: Analysis) -> dict[str, Json]:
    """Give summary.json: all of an analysis but its trials, which are results.json."""
    document = plain_object(analysis)
    del document["trials"]
    return document


def read_analysis_files(run: Path) -> Analysis:
    """Read what an analysis left; InputError: there is none, or it is of another form.

    NewerFormatError: it is of a newer taut.
    """
    results, summary = run / RESULTS_FILE, run / SUMMARY_FILE
    written = read_json(results)
    refuse_newer(Results, written, results)
    if isinstance(written, Sequence):
        written = {"trials": written}  # As it was before format 2.
    trials = parse(Results, written, str(results)).trials
    found = read_json(summary)
    refuse_newer(Analysis, found, summary)
    whole = {**found, "trials": trials} if isinstance(found, Mapping) else found
    return parse(Analysis, whole, str(summary))
