"""Two runs side by side: what `taut compare --json` prints."""

from dataclasses import dataclass

COMPARISON_FORMAT = 2


@dataclass(frozen=True)
class FigureCompared:
    """One figure in both runs; None where too few packets or repetitions say anything."""

    name: str
    shown: str
    """What is claimed, as analysis/difference.py's Shown spells it."""
    a_ns: float | None
    a_n_above: int | None
    a_of_repetitions_ns: tuple[float, ...]
    b_ns: float | None
    b_n_above: int | None
    b_of_repetitions_ns: tuple[float, ...]
    difference_interval_ns: tuple[float, float] | None
    """The 95 % interval of A - B; None where too few runs allow one."""
    improvement: float | None
    """(A - B) / A, above 0 where B is faster; None where A is not above 0."""
    improvement_interval: tuple[float, float] | None
    p_value: float | None
    p_corrected: float | None
    """`p_value` corrected for the number of figures compared."""


@dataclass(frozen=True)
class SideCompared:
    """One of the two variants."""

    dut: str | None
    driver: str | None
    link: str | None
    placement: str | None
    path: str | None
    trials: tuple[str, ...]
    sent: int
    lost: int
    void_share: float
    n: int


@dataclass(frozen=True)
class PairCompared:
    """One device of A beside one of B under the same load."""

    load: str
    is_floor: bool
    label: str
    verdict: str
    a: SideCompared
    b: SideCompared
    figures: tuple[FigureCompared, ...]


@dataclass(frozen=True)
class ConditionDiffering:
    """A condition of the machine or of taut in which the two runs differ."""

    name: str
    a: str
    b: str


@dataclass(frozen=True)
class ComparisonDocument:
    """What `taut compare --json` prints: run `a` is the base, `b` is held against it."""

    a: str
    b: str
    report: str | None
    """Where the HTML is, if any was wanted."""
    without_void: bool
    """Whether packets that the generator itself held up were left out."""
    verdict: str
    pairs: tuple[PairCompared, ...]
    warnings: tuple[str, ...]
    differing_conditions: tuple[ConditionDiffering, ...]
    format: int = COMPARISON_FORMAT
