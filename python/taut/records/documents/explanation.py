"""An explanation: what `taut explain --json` prints, and what results.json keeps of it.

A field with a default is missing in documents that are older than it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from taut.records.documents.json_field import INLINE, LEFT_OUT, key, rest
from taut.records.documents.json_form import JsonObject

EXPLANATION_FORMAT = 1

_SHORT = {"NOT_APPLICABLE": "n/a"}


class Outcome(StrEnum):
    """How a cause that was seen stands to the audit."""

    PREDICTED = "predicted"
    NOT_PREDICTED = "not predicted"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Checked:
    """A check of the host whose remedy makes a cause rarer, and what the audit found."""

    check: str
    title: str
    audit: str
    """PASS, FAIL, UNKNOWN or NOT_APPLICABLE; empty: nobody looked."""

    def __str__(self) -> str:
        return f"{self.check} {_SHORT.get(self.audit, self.audit)}".strip()


@dataclass(frozen=True)
class Predicted:
    """What the audit said of a cause before the run."""

    checks: tuple[Checked, ...] | None = field(default=None, metadata=LEFT_OUT)
    """None: of before the audit was asked."""
    prediction: Outcome | None = None
    prediction_words: str = ""


@dataclass(frozen=True)
class Offender:
    """One of those that made packets late in a trial, or in several."""

    role: str
    core: int | None
    cause: str
    who: str
    """A thread, a function and its sender, an interrupt's name; empty: the cause says all."""
    n_stalls: int
    n_guesses: int
    """Stalls, or packets where there are none, whose verdict is a guess (grade D)."""
    taken_ns: int
    """How long its stalls lasted, packets late or not."""
    n_packets: int
    """Packets of the tail."""
    worst_ns: int
    """The most that one of them was late, above the trial's `base_ns`."""


@dataclass(frozen=True)
class OffenderDocument(Offender):
    """The same, with what the audit said of its cause."""

    predicted: Predicted = field(default_factory=Predicted, metadata=INLINE)


@dataclass(frozen=True)
class CauseDocument:
    """What one cause did to the tail."""

    title: str
    n_episodes: int
    n_packets: int
    total_ns: int
    worst_ns: int
    tail_share: float
    n_by_grade: Mapping[str, int]
    ask: str
    cause: str = "unknown"
    n_lost: int = 0
    n_unsent: int | None = field(default=None, metadata=LEFT_OUT)
    """The transmit call refused them; None: the document is older, and `n_lost` holds them, too."""
    n_by_relation: Mapping[str, int] = field(default_factory=dict)
    remedies: tuple[str, ...] = ()
    predicted: Predicted = field(default_factory=Predicted, metadata=INLINE)


@dataclass(frozen=True)
class ShareDocument:
    """A part of a gap's time."""

    label: str
    ns: int
    share: float
    detail: str = ""


@dataclass(frozen=True)
class GapDocument:
    """One gap of a polling thread and where its time went."""

    thread: str
    core: int
    start_ns: int
    end_ns: int
    length_ns: int
    cause: str
    grade: str
    detail: str
    shares: tuple[ShareDocument, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoryDocument:
    """One of the worst episodes; of an older result only the line is known."""

    line: str
    direction: int = 0
    first_seq: int = 0
    start_ns: int = 0
    end_ns: int = 0
    n_packets: int | None = field(default=None, metadata=LEFT_OUT)
    """None: the document is older than this key, and only `line` is known."""
    n_lost: int = 0
    n_unsent: int | None = field(default=None, metadata=LEFT_OUT)
    """As of a cause."""
    n_void: int = 0
    worst_excess_ns: int = 0
    cause: str = "unknown"
    grade: str = ""
    n_by_relation: Mapping[str, int] = field(default_factory=dict)
    worst_seq: int = 0
    remedies: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    predicted: Predicted = field(default_factory=Predicted, metadata=INLINE)
    missing: tuple[str, ...] = ()
    gap: GapDocument | None = None


@dataclass(frozen=True)
class Stretch:
    """A stretch of percentiles of the tail, and its causes."""

    begin: str = field(metadata=key("from"))
    end: str = field(metadata=key("to"))
    one_in: tuple[float, float]
    packets: int
    by_cause: Mapping[str, int]
    guesses: Mapping[str, int] = field(default_factory=dict)
    """How many of each cause's packets in `by_cause` are only guessed."""


@dataclass(frozen=True)
class TailPackets:
    """Single packets of the tail, the slowest first: one column a field."""

    one_in: tuple[float, ...]
    latency_ns: tuple[int, ...]
    cause: tuple[str, ...]
    is_guess: tuple[bool, ...] | None = field(default=None, metadata=LEFT_OUT)
    """None: the document is older than this key."""


@dataclass(frozen=True)
class ByPercentile:
    """The tail by percentile."""

    n: int
    bins: tuple[Stretch, ...]
    packets: TailPackets


@dataclass(frozen=True)
class VetoCounts:
    """What was taken back because packets spoke against it: docs/attribution.md, The veto."""

    device_stalls: int = 0
    generator_stalls: int = 0
    packets: int = 0
    """Late packets that had come out before the stall they would have been blamed on ended."""

    @property
    def n(self) -> int:
        return self.device_stalls + self.generator_stalls + self.packets


@dataclass(frozen=True)
class FunctionCalls:
    """Calls from other cores, and those with a known sender."""

    n: int = 0
    sender_known: int = 0


@dataclass(frozen=True)
class EventLacking:
    """An event this kernel does not have, and what cannot be told without it."""

    event: str
    costs: str


@dataclass(frozen=True)
class GapTotalDocument:
    """What one cause did to a thread, packets or not."""

    thread: str
    cause: str
    n: int
    total_ns: int
    worst_ns: int
    by: Mapping[str, int]
    """The most of their time by thread that had it, or sent what had it."""
    n_guesses: int = 0
    """How many of the gaps have the cause as a guess (grade D)."""


@dataclass(frozen=True)
class EntryCostDocument:
    """What one class of interrupts costs outside its handlers."""

    n: int
    median_ns: int
    p99_ns: int
    limit_ns: int
    """What is longer has another cause."""


@dataclass(frozen=True)
class CalibrationDocument:
    """What interrupts cost on this machine when it ran, and how often threads just stopped."""

    entry_and_exit: Mapping[str, EntryCostDocument]
    empty_gaps: int
    empty_ns: int
    watched_ns: int
    empty_gaps_per_second: float
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class CountersMoved:
    """How far counters of a thread's core moved during the trace; None: not read."""

    steal: int | None = None
    """Time that the hypervisor took, in jiffies (USER_HZ, as /proc/stat counts)."""
    smi: int | None = None


@dataclass(frozen=True)
class ExplanationDocument:
    """The causes of a trial's tail; keys that end in `_share` are shares of the tail by cause."""

    over: str
    threshold_ns: int | None
    tail_packets: int
    causes: tuple[CauseDocument, ...]
    worst: tuple[StoryDocument, ...] = ()
    format: int | None = field(default=None, metadata=LEFT_OUT)
    name: str | None = field(default=None, metadata=LEFT_OUT)
    p50_ns: int | None = None
    base_ns: int | None = None
    """The latency above which lateness counts: the median, the threshold where that is lower, 0 in
    overload; None: no packets, or the document is older than this key.
    """
    packets: int | None = None
    void_packets: int | None = field(default=None, metadata=LEFT_OUT)
    above_packets: int | None = field(default=None, metadata=LEFT_OUT)
    """Packets above the threshold, where not all of them were recorded; None: `tail_packets`."""
    shares: Mapping[str, float] = field(default_factory=dict, metadata=rest(suffix="_share"))
    offenders: tuple[OffenderDocument, ...] = ()
    by_percentile: ByPercentile | None = None
    vetoed: VetoCounts | None = None
    """None: of before that was counted."""
    calibration: CalibrationDocument | None = None
    function_calls: FunctionCalls = field(default_factory=FunctionCalls)
    kernel_lacks: tuple[EventLacking, ...] = ()
    notes: tuple[str, ...] = ()
    gaps: tuple[GapTotalDocument, ...] | None = field(default=None, metadata=LEFT_OUT)
    """None, as those below: results.json does not keep it."""
    worst_gaps: tuple[GapDocument, ...] | None = field(default=None, metadata=LEFT_OUT)
    counters: Mapping[str, CountersMoved] | None = field(default=None, metadata=LEFT_OUT)
    """By thread: generator, forwarder, ..."""
    grades: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    """What each grade means."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class NotExplained:
    """A trial that could not be explained."""

    trial: str
    why: str


@dataclass(frozen=True)
class ExplainedRun:
    """What `taut explain --json` prints of a run, or of a process."""

    run: str
    """Its folder, or the number of the process."""
    trials: tuple[ExplanationDocument, ...]
    not_explained: tuple[NotExplained, ...]
    format: int = EXPLANATION_FORMAT
