"""Repetitions of one variant put together: their packets counted as one population.

Distributions are merged (n added up), never percentiles averaged.  Repetitions that disagree are
flagged, since a merged curve of two bands describes neither.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from taut.analysis.budget import pooled
from taut.analysis.reconcile import by_warm_up
from taut.analysis.statistics import COLD, MAIN, WITHOUT_VOID, Summary, selections, summarise
from taut.analysis.trial_tables import Distributions
from taut.records.documents.budget import Budget
from taut.records.documents.generator import Counters
from taut.records.documents.results import (
    DirectionOfVariant,
    Metrics,
    TrialFigures,
    TrialResult,
    Variant,
    WarmCounts,
    WarmUp,
)

BAND = 0.20
"""Medians further apart than this, and than their confidence intervals, are two bands."""

POOLED_METRICS = ("latency", "latency_from_intent", "jitter", "departure_error")


def asked_of(one: TrialResult | Variant) -> tuple[object, ...]:
    """What was to be measured: of a trial that failed before its device ran, too.

    Such a trial has no path yet, and its guest no claim.
    """
    device, load = one.device, one.load
    asked = (load.traffic, load.frame, load.both, load.asked_pps)
    path = (device.named, str(device.driver), device.link, device.placement)
    return *path, *device.surroundings, *asked


def variant_of(result: TrialResult) -> tuple[object, ...]:
    """What is the same in all repetitions of one variant, and differs from other variants."""
    return *asked_of(result), result.device.claim


def pool(
    results: Sequence[TrialResult],
    distributions: Sequence[Distributions],
    blocks: pa.Table | None = None,
) -> Variant:
    """Make the table row of one variant from its whole trials.

    Its packets, losses and void share are of the same packets as its latencies: those after the
    warm-up, which has its own row. `blocks` are those of all trials one after the other; None where
    packets were not recorded.
    """
    first, n = results[0], len(results)
    trials = [result.measured for result in results]
    by_direction = _by_direction(trials)
    summaries = _summaries(distributions, blocks, len(by_direction))
    latency = summaries["latency"]
    warm = _warm_counts([t.warm for t in trials])
    loss_ratio = _share(warm.lost, warm.sent)
    granted = [t.granted_ns for t in trials if t.granted_ns is not None]
    return Variant(
        device=first.device,
        load=first.load,
        is_floor=first.device.is_floor,
        trials=tuple(result.name for result in results),
        due=warm.due,
        sent=warm.sent,
        unsent=warm.unsent,
        matched=warm.matched,
        lost=warm.lost,
        void=warm.void,
        received=sum(t.received for t in trials),
        late=sum(t.late for t in trials),
        duplicates=sum(t.duplicates for t in trials),
        orphans=sum(t.orphans for t in trials),
        out_of_sequence=sum(t.out_of_sequence for t in trials),
        offered_pps=sum(t.offered_pps for t in trials) / n,
        achieved_pps=sum(t.achieved_pps for t in trials) / n,
        void_share=_share(warm.void, warm.due),
        loss_ratio=loss_ratio,
        granted_ns=max(granted, default=None),
        instrument_limited=any(t.instrument_limited for t in trials),
        rate_ok=all(t.rate_ok for t in trials),
        sums_reconcile=all(t.sums_reconcile for t in trials),
        doubt=latency[MAIN].doubt(),
        loss_ratio_at_most=latency[MAIN].failed_at_most(loss_ratio),
        unsupported_percentiles_without_void=tuple(latency[WITHOUT_VOID].unsupported()),
        metrics=Metrics(
            without_void={name: s[WITHOUT_VOID].figures() for name, s in summaries.items()},
            all_packets={name: s[MAIN].figures() for name, s in summaries.items()},
        ),
        warm_up=_warm_up(results, latency[COLD]),
        p50_of_repetitions=tuple(result.latency().p50_ns for result in results),
        two_bands=has_two_bands(results),
        directions=_directions(by_direction, latency) or None,
        budgets=_budgets(results),
        lost_void=warm.lost_void,
    )


def _budgets(results: Sequence[TrialResult]) -> tuple[Budget, ...] | None:
    return pooled([result.budgets for result in results if result.budgets]) or None


def _by_direction(trials: Sequence[TrialFigures]) -> list[tuple[Counters, ...]]:
    """Give what the trials counted of each direction; empty where packets went one way alone."""
    found = list(zip(*(t.directions for t in trials), strict=False))
    return found if len(found) > 1 else []


def _directions(
    by_direction: Sequence[Sequence[Counters]], latency: Mapping[str, Summary]
) -> tuple[DirectionOfVariant, ...]:
    """Make the row of each direction."""
    return tuple(
        _direction(i, counters, latency[f"{MAIN}_{i}"]) for i, counters in enumerate(by_direction)
    )


def _direction(number: int, counters: Sequence[Counters], latency: Summary) -> DirectionOfVariant:
    """Make the row of one direction from what the trials counted of it."""
    warm = _warm_counts([by_warm_up(one, None)[0] for one in counters])
    return DirectionOfVariant(
        direction=number,
        due=warm.due,
        sent=warm.sent,
        unsent=warm.unsent,
        matched=warm.matched,
        lost=warm.lost,
        void=warm.void,
        latency=latency.figures(),
        doubt=latency.doubt(),
        loss_ratio_at_most=latency.failed_at_most(_share(warm.lost, warm.sent)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _warm_counts(counts: Sequence[WarmCounts]) -> WarmCounts:
    return WarmCounts(
        due=sum(c.due for c in counts),
        sent=sum(c.sent for c in counts),
        unsent=sum(c.unsent for c in counts),
        matched=sum(c.matched for c in counts),
        lost=sum(c.lost for c in counts),
        void=sum(c.void for c in counts),
        lost_void=None
        if any(c.lost_void is None for c in counts)
        else sum(c.lost_void or 0 for c in counts),
    )


def _summaries(
    distributions: Sequence[Distributions], blocks: pa.Table | None, n_directions: int
) -> dict[str, dict[str, Summary]]:
    """Summarise each metric that variants have; latency alone has intervals and directions."""
    return {
        metric: summarise(
            # One after the other will do: a value may have a count in each.
            pa.concat_tables(trial.of(metric) for trial in distributions),
            metric,
            selections(range(n_directions if metric == "latency" else 0)),
            intervals=metric == "latency",
            blocks=blocks if metric == "latency" else None,
        )
        for metric in POOLED_METRICS
    }


def _warm_up(results: Sequence[TrialResult], latency: Summary) -> WarmUp:
    """Make the warm-up's own row; counters are None where an older trial did not split them."""
    warm_ups = [result.measured.cold for result in results]
    return WarmUp(
        due=_sum([cold.due for cold in warm_ups]),
        sent=_sum([cold.sent for cold in warm_ups]),
        unsent=_sum([cold.unsent for cold in warm_ups]),
        matched=_sum([cold.matched for cold in warm_ups]),
        lost=_sum([cold.lost for cold in warm_ups]),
        void=_sum([cold.void for cold in warm_ups]),
        latency=latency.figures(),
        doubt=latency.doubt(),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def has_two_bands(results: Sequence[TrialResult]) -> bool:
    """Whether two repetitions' medians differ by more than BAND and their intervals are apart."""
    found = [
        (p50_ns, result.measured.doubt.confidence_intervals["p50"])
        for result in results
        if (p50_ns := result.latency().p50_ns) is not None
    ]
    if len(found) < 2:
        return False
    (low, (_, top_of_low)) = min(found, key=lambda median: median[0])
    (high, (bottom_of_high, _)) = max(found, key=lambda median: median[0])
    if high <= (1 + BAND) * low:
        return False
    return top_of_low is None or bottom_of_high is None or top_of_low < bottom_of_high
