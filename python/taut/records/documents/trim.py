"""trim.json: what `taut trim --json` prints and the report shows.

A field with a default is not in every document: a trim by stalls has windows, one by packets has
the causes before and after it, and a dry run decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.json_field import LEFT_OUT
from taut.records.documents.manifest import ProcessOfRun
from taut.records.documents.trial import InForce

TRIM_FILE = "trim.json"
WINDOWS_FILE = "windows.json"
"""WindowsOfTrim: while a process is watched, and where that was interrupted; then trim.json."""

UNMEASURED = "kept: part of what was shown to help; its own share was not measured"
UNCONFIRMED = "kept: part of what was shown to help; less was not shown to do as well"
"""Decisions. The latter: without the remedy nothing was shown, and the rest was not confirmed."""

LESS, MORE = "less", "more"

TRIM_FORMAT = 1
BY_STALLS = "stalls"


@dataclass(frozen=True)
class PairedRatio:
    """What pairs of runs in two states show: the figure in the second over that in the first."""

    n_pairs: int
    ratio: float | None
    """None: losses decide, so that it has no size."""
    low: float | None
    """None: the interval has no end there, because of runs whose figure is a lost packet."""
    high: float | None
    confidence: float
    """That the interval from `low` to `high` holds the true ratio, 0 to 1."""
    p_value: float
    """Two-sided, of the hypothesis that the states do not differ."""
    losses: str | None = field(default=None, metadata=LEFT_OUT)
    """Where the figure is a lost packet: the ratio has no size, nothing is claimed; else None."""
    lost_in: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    """The states in which it is one; None: in neither."""
    by_ranks: str | None = field(default=None, metadata=LEFT_OUT)
    """Where losses decide: `LESS` or `MORE` than the first is the second by ranks; None: neither.

    A lost packet is slower than any that came back.
    """

    @property
    def is_less(self) -> bool:
        """Whether the interval is below 1."""
        return self.high is not None and self.high < 1

    @property
    def is_more(self) -> bool:
        """Whether the interval is above 1."""
        return self.low is not None and self.low > 1

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes 1, of packets that may be compared."""
        return self.losses is None and (self.is_less or self.is_more)


@dataclass(frozen=True)
class CellOfTrim:
    """A device under a load: its figure in both states, in ns, as median and by repetition."""

    cell: str
    before: float | None
    after: float | None
    """None: no run of that state was whole, or it is a packet that never came back."""
    before_with_void: float | None = None
    after_with_void: float | None = None
    before_of_repetitions: tuple[float | None, ...] = ()
    """In pairs with those after; None: that run was not whole, or it is such a packet."""
    after_of_repetitions: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class CauseOfTrim:
    """A cause of the tail in both states, as shares of it, 0 to 1.

    The tail is above p99.9 of each trial; of the scouting run alone, above the target.
    """

    cause: str
    title: str
    before: float
    after: float | None
    """None: not measured in that state, or not traced."""
    late_ns_before: float | None = field(default=None, metadata=LEFT_OUT)
    """For how many ns of a million packets its episodes went on; only traced trials have it."""
    late_ns_after: float | None = field(default=None, metadata=LEFT_OUT)
    stolen_ns_before: float | None = field(default=None, metadata=LEFT_OUT)
    """By stalls: for how many ns of each second the cause had the process's cores."""
    stolen_ns_after: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class GroupOfTrim:
    """Remedies of one cause, which are left out together."""

    cause: str
    title: str
    remedies: tuple[str, ...]
    without_it: PairedRatio | None


@dataclass(frozen=True)
class RemedyOfTrim:
    """One remedy that was tried, or only listed."""

    remedy: str
    check: str
    summary: str
    when: str
    cause: str
    """The id of its group; empty: only the audit asks for it."""
    share: float
    severity: str
    risk: str
    cost: str
    lines: tuple[str, ...]
    """What would be written, or the boot items, or what to do by hand."""
    decision: str | None = None
    without_it: PairedRatio | None = field(default=None, metadata=LEFT_OUT)
    """The figure without its group over the figure with all groups; None: not measured."""


@dataclass(frozen=True)
class WindowOfTrim:
    """A stretch of time in which a process was watched in one state of the host."""

    host: str
    repetition: int
    started_utc: str
    duration_ns: int
    stalled_ns_per_s: Mapping[str, float]
    """By core; a core whose events were lost is left out."""
    causes_ns_per_s: Mapping[str, float]
    remedies: tuple[str, ...]
    before: InForce
    """What verify said of the state before the window, and after it."""
    after: InForce
    failure: str | None


@dataclass(frozen=True)
class TrimDocument:
    """trim.json: what was measured, what it showed, and what became of each remedy."""

    target: str
    figure: str
    method: str
    cores: str
    took_s: float
    verdict: str
    sentence: str
    effect: PairedRatio | None
    effect_with_void: PairedRatio | None
    cells: tuple[CellOfTrim, ...]
    causes: tuple[CauseOfTrim, ...]
    remedies: tuple[RemedyOfTrim, ...]
    kept: tuple[str, ...]
    confirmed: PairedRatio | None
    in_force: bool
    """Whether what is kept is in force now; what of it the machine did not take is in `notes`."""
    notes: tuple[str, ...]
    groups: tuple[GroupOfTrim, ...] = ()
    format: int = TRIM_FORMAT
    by: str | None = field(default=None, metadata=LEFT_OUT)
    """`BY_STALLS`: a process was watched; None: an experiment sent packets."""
    process: ProcessOfRun | None = field(default=None, metadata=LEFT_OUT)
    seed: int | None = field(default=None, metadata=LEFT_OUT)
    window_ns: int | None = field(default=None, metadata=LEFT_OUT)
    windows: tuple[WindowOfTrim, ...] | None = field(default=None, metadata=LEFT_OUT)
    waiting: tuple[str, ...] = ()
    """Whether programs on the cores poll or sleep, as in an audit; empty in older documents."""

    @property
    def is_by_stalls(self) -> bool:
        """Whether a process was watched; else an experiment sent packets."""
        return self.by == BY_STALLS


@dataclass(frozen=True)
class WindowsOfTrim:
    """The windows so far of a process that is watched; trim.json has them with the result."""

    process: ProcessOfRun
    seed: int
    window_ns: int
    windows: tuple[WindowOfTrim, ...]
    format: int = TRIM_FORMAT
