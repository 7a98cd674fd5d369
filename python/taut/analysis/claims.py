"""What may be claimed of two sides: the one way in which taut judges a table of figures.

The run is the unit: packets of one stall are not independent, and what differs from run to run is
not in any packet. Every figure of a side is one number a run. Sides that one run directory holds
in turn are compared pair by pair (signed ranks, `paired.py`), others as two groups (rank sums,
`unpaired.py`), exactly unless there are very many. The effect is the Hodges-Lehmann estimate with
the 95 % interval of that figure alone.

The larger the table, the harder a claim: p-values are corrected after Benjamini and Yekutieli
(Annals of Statistics 29, 2001), whose method allows any dependence between the figures. Where no
figure differs, at most one table in 20 claims anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from statistics import median

from taut.analysis.paired import hodges_lehmann, least_pairs, signed_rank_p, walsh_averages
from taut.analysis.unpaired import least_rank_sum_p, rank_sum_p, shift

CONFIDENCE = 0.95
ERROR = 0.05
"""The accepted share of false claims among the claims of a table."""

LEAST_RUNS = 4
"""Below four runs a side even the clearest difference has a p-value of 0.1."""


class Said(StrEnum):
    """What is claimed of one figure: how the second side compares with the first."""

    LESS = "less"
    MORE = "more"
    NOTHING = "no difference shown"
    TOO_FEW = "too few runs"
    LOSSES = "losses differ"


@dataclass(frozen=True)
class Evidence:
    """What the runs of two sides say of one figure; differences are second less first."""

    n_runs: tuple[int, int]
    estimate: float
    low: float | None
    """Lower end of the 95 % interval; None where the runs are too few for one."""
    high: float | None
    least: float
    """The smallest difference of any two runs, or of any pair."""
    greatest: float
    p_value: float
    """Two-sided, of the hypothesis of no difference, for this figure alone."""
    least_p: float
    """The smallest p-value that so many runs can have."""
    gone: tuple[float, float] | None = None
    """Shares that were lost or not sent, where they differ too much for a claim; else None."""

    @property
    def has_enough_runs(self) -> bool:
        """Whether anything could be claimed of this figure if it were the only one in the table."""
        return min(self.n_runs) >= LEAST_RUNS and self.least_p <= ERROR


@dataclass(frozen=True)
class Judged:
    """One figure of a table."""

    said: Said
    p_corrected: float | None
    """The p-value corrected for the table; None where the figure has too few runs to be in it."""


def compare_groups(first: Sequence[float], second: Sequence[float]) -> Evidence:
    """Compare runs that were measured at different times; ValueError: a side is empty."""
    p_value = rank_sum_p(first, second)
    differences = [b - a for a in first for b in second]
    interval = shift(first, second, CONFIDENCE)
    return Evidence(
        n_runs=(len(first), len(second)),
        estimate=median(differences),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        least=min(differences),
        greatest=max(differences),
        p_value=p_value,
        least_p=least_rank_sum_p(len(first), len(second)),
    )


def compare_pairs(differences: Sequence[float]) -> Evidence:
    """Compare runs that were measured in turn: second less first of every pair, of one or more."""
    n = len(differences)
    interval = hodges_lehmann(differences, CONFIDENCE) if n >= least_pairs(CONFIDENCE) else None
    return Evidence(
        n_runs=(n, n),
        estimate=median(walsh_averages(differences)),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        least=min(differences),
        greatest=max(differences),
        p_value=signed_rank_p(differences),
        least_p=_least_signed_rank_p(n),
    )


def judge_table(table: Sequence[Evidence]) -> list[Judged]:
    """Judge the figures of one table together, in its order.

    TOO_FEW, not NOTHING, is a figure whose runs are so few that nothing could be claimed even if
    every figure of the table differed as clearly as its runs can show. One whose sides lose other
    shares of their packets is not in the table: what is lost has no latency.
    """
    judged = [Judged(Said.TOO_FEW if one.gone is None else Said.LOSSES, None) for one in table]
    at = [i for i, one in enumerate(table) if one.has_enough_runs and one.gone is None]
    if not at:
        return judged
    # Here, not above: half a second for some numbers at the end of a run.
    from scipy.stats import false_discovery_control

    corrected = false_discovery_control([table[i].p_value for i in at], method="by")
    best = false_discovery_control([table[i].least_p for i in at], method="by")
    for i, p, p_best in zip(at, corrected.tolist(), best.tolist(), strict=True):
        judged[i] = Judged(_said(table[i], p, p_best), p)
    return judged


def runs_needed(n_figures: int, *, is_paired: bool, n_differing: int = 1) -> int:
    """Give how many runs a side it takes to claim that so many of a table's figures differ."""
    harmonic = sum(1 / k for k in range(1, n_figures + 1))
    share = ERROR * n_differing / n_figures / harmonic
    if is_paired:
        return next(n for n in count(LEAST_RUNS) if _least_signed_rank_p(n) <= share)
    return next(n for n in count(LEAST_RUNS) if least_rank_sum_p(n, n) <= share)


def _least_signed_rank_p(n_pairs: int) -> float:
    return min(1.0, 2.0 ** (1 - n_pairs))


def _said(evidence: Evidence, p: float, p_best: float) -> Said:
    if evidence.low is None or evidence.high is None or p_best > ERROR:
        return Said.TOO_FEW
    if p > ERROR or evidence.low <= 0 <= evidence.high:
        return Said.NOTHING
    return Said.MORE if evidence.low > 0 else Said.LESS
