"""Figures of single runs, and two sides of one run directory set beside each other by them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from math import log
from statistics import median

from taut.analysis.claims import CONFIDENCE, Evidence, compare_groups, compare_pairs
from taut.analysis.paired import least_pairs
from taut.core.percentiles import PERCENTILES, SUPPORT, percentile_rank, share_above
from taut.records.documents.results import WITH_VOID, Packets, TrialResult

_MOST_APART = 0.1
"""Of the packets above a percentile, so many may be lost on one side alone: p99.9 of what came back
is then at least p99.89 of what was due."""
_TAIL_OF_MEAN = "p99"
"""A mean hangs on the slow packets: it is held to what p99 is."""


def n_above(result: TrialResult, name: str, population: Packets = WITH_VOID) -> int:
    """Count the packets of a run above a percentile."""
    n = result.latency(population).n
    return n - percentile_rank(n, PERCENTILES[name]) if n else 0


def figure_of(result: TrialResult, name: str, population: Packets = WITH_VOID) -> float | None:
    """Give a percentile or the mean of one run in ns; None where too few packets support it."""
    latency = result.latency(population)
    value = latency.value_ns(name)
    if value is None:
        return None
    if name in PERCENTILES:
        # All packets count, independent or not: what one stall did shows in the spread of runs.
        is_supported = n_above(result, name, population) >= SUPPORT
    else:
        is_supported = latency.n >= 2 * SUPPORT
    return float(value) if is_supported else None


def share_gone(result: TrialResult, population: Packets = WITH_VOID) -> float:
    """Give the share of packets that were lost or not sent, 0 to 1, after the warm-up.

    Without void packets it is of those that the generator was on time with.
    """
    warm = result.measured.warm
    if population == WITH_VOID:
        return (warm.unsent + warm.lost) / max(1, warm.due)
    return (warm.on_time - result.latency(population).n) / max(1, warm.on_time)


def gone_of(results: Sequence[TrialResult], population: Packets = WITH_VOID) -> float:
    """Give the median share over some runs, those of which nothing came back among them.

    These are in no rank. Where they are fewer than half, what is claimed is of the others alone.
    Without void packets, runs that the generator was late with as a whole say nothing of losses.
    """
    told = [one for one in results if population == WITH_VOID or one.measured.warm.on_time]
    return median([share_gone(one, population) for one in told] or [0.0])


def gone_apart(first: float, second: float, name: str) -> tuple[float, float] | None:
    """Give the shares that two sides lost, where a figure is of other packets on each; else None.

    What is lost has no latency, so that it may lie anywhere above.
    """
    tail = share_above(name if name in PERCENTILES else _TAIL_OF_MEAN)
    return (first, second) if abs(second - first) > _MOST_APART * tail else None


def ratio_evidence(
    first: Sequence[TrialResult],
    second: Sequence[TrialResult],
    name: str,
    population: Packets = WITH_VOID,
) -> Evidence | None:
    """Compare a figure of two sides of one run directory, as the logarithm of second over first.

    Pair by pair where the directory holds both in turn, but for pairs that a break tore apart;
    where too few others are left for an interval, all runs are two groups. Nothing is claimed where
    losses differ. None: a side has no run with the figure.
    """
    sides = [
        [
            (r, log(max(1.0, value)))
            for r in results
            if (value := figure_of(r, name, population)) is not None
        ]
        for results in (first, second)
    ]
    if not all(sides):
        return None
    by_repetition = [{r.repetition or 0: (r, value) for r, value in side} for side in sides]
    common = sorted(by_repetition[0].keys() & by_repetition[1].keys())
    pairs = [(by_repetition[0][number], by_repetition[1][number]) for number in common]
    whole = _whole([(a, b) for (a, _), (b, _) in pairs])
    kept = [pair for pair, is_whole in zip(pairs, whole, strict=True) if is_whole]
    is_enough = all(whole) or len(kept) >= least_pairs(CONFIDENCE)
    if kept and is_enough and _are_in_turn([(a, b) for (a, _), (b, _) in kept]):
        evidence = compare_pairs([after - before for (_, before), (_, after) in kept])
    else:
        evidence = compare_groups(*([value for _, value in side] for side in sides))
    apart = gone_apart(gone_of(first, population), gone_of(second, population), name)
    return replace(evidence, gone=apart)


def _are_in_turn(pairs: Sequence[tuple[TrialResult, TrialResult]]) -> bool:
    """Whether every pair was over before the next one began, by when the trials started.

    By their numbers where results of before do not say when: a resumed run keeps those.
    """
    trials = [trial for pair in pairs for trial in pair]
    if any(trial.index is None for trial in trials):
        return False
    is_timed = all(trial.started_utc for trial in trials)

    def at(trial: TrialResult) -> tuple[str, int]:
        return (trial.started_utc or "") if is_timed else "", trial.index or 0

    rounds = sorted(tuple(sorted((at(a), at(b)))) for a, b in pairs)
    return all(a[1] < b[0] for a, b in pairwise(rounds))


def _whole(pairs: Sequence[tuple[TrialResult, TrialResult]]) -> list[bool]:
    """Say of each pair whether both began within two usual rounds: else one of it was resumed.

    Of all pairs where results of before do not say when.
    """
    began = [
        sorted(
            datetime.fromisoformat(one.started_utc).timestamp() for one in pair if one.started_utc
        )
        for pair in pairs
    ]
    if len(pairs) < 2 or any(len(of_pair) < 2 for of_pair in began):
        return [True] * len(pairs)
    usual_s = median(b[0] - a[0] for a, b in pairwise(sorted(began)))
    return [of_pair[1] - of_pair[0] <= 2 * usual_s for of_pair in began]
