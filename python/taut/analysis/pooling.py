"""Repetitions of one variant put together: their packets counted as one population.

Distributions are merged (n added up), never percentiles averaged.  Repetitions that disagree are
flagged, since a merged curve of two bands describes neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from taut.analysis.distribution import merge
from taut.analysis.reconcile import COUNTERS
from taut.analysis.statistics import MAIN, WITHOUT_VOID, selections, summarise

LOOPBACK = "loopback"
"""The driver without a device: the instrument's floor."""

BAND = 0.20
"""Medians further apart than this, and than their confidence intervals, are two bands."""

POOLED_METRICS = ("latency", "latency_from_intent", "jitter", "departure_error")

_CONDITION = ("link", "placement", "traffic", "frame", "both", "asked_pps")


@dataclass(frozen=True)
class Variant:
    """What repetitions have in common."""

    dut: str
    driver: str
    condition: tuple[Any, ...]

    @property
    def is_floor(self) -> bool:
        """Whether this is the path with no device in it."""
        return self.driver == LOOPBACK


def variant_of(result: Mapping[str, Any]) -> Variant:
    """Which variant a trial repeats."""
    condition = tuple(result.get(name) for name in _CONDITION)
    return Variant(str(result["dut"]), str(result["driver"]), condition)


def pool(results: Sequence[Mapping[str, Any]], distributions: Sequence[pa.Table]) -> dict[str, Any]:
    """Make the table row of one variant from its whole trials."""
    first = results[0]
    distribution = merge(distributions)
    row: dict[str, Any] = {
        name: first.get(name)
        for name in ("dut", "driver", "link", "placement", "path", "traffic", "schedule", "frame")
    }
    row |= {"both": first.get("both"), "asked_pps": first.get("asked_pps")}
    row |= {"is_floor": variant_of(first).is_floor, "trials": [r["name"] for r in results]}
    row |= {name: sum(r[name] or 0 for r in results) for name in COUNTERS}
    row |= _rates(results)
    for metric in POOLED_METRICS:
        summaries = summarise(distribution, metric, selections([0]), intervals=False)
        row[f"{metric}_ns"] = summaries[MAIN].as_json()
        row[f"{metric}_without_void_ns"] = summaries[WITHOUT_VOID].as_json()
        if metric == "latency":
            row["unsupported_percentiles"] = summaries[MAIN].unsupported()
            row["n_above"] = dict(summaries[MAIN].n_above)
    row["p50_of_repetitions"] = [r["latency_ns"]["p50"] for r in results]
    row["two_bands"] = has_two_bands(results)
    return row


def _rates(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    n = len(results)
    due = sum(r["due"] for r in results)
    return {
        "offered_pps": sum(r["offered_pps"] for r in results) / n,
        "achieved_pps": sum(r["achieved_pps"] for r in results) / n,
        "void_share": sum(r["void_share"] * r["due"] for r in results) / due if due else 0.0,
        "loss_ratio": sum(r["loss_ratio"] * r["due"] for r in results) / due if due else 0.0,
        "instrument_limited": any(r["instrument_limited"] for r in results),
        "rate_ok": all(r["rate_ok"] for r in results),
        "sums_reconcile": all(r["sums_reconcile"] for r in results),
    }


def has_two_bands(results: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two repetitions' medians differ by more than BAND and their intervals are apart."""
    found = [r for r in results if r["latency_ns"]["p50"] is not None]
    if len(found) < 2:
        return False
    low = min(found, key=lambda r: int(r["latency_ns"]["p50"]))
    high = max(found, key=lambda r: int(r["latency_ns"]["p50"]))
    if high["latency_ns"]["p50"] <= (1 + BAND) * low["latency_ns"]["p50"]:
        return False
    top_of_low = low["confidence_intervals"]["p50"][1]
    bottom_of_high = high["confidence_intervals"]["p50"][0]
    return top_of_low is None or bottom_of_high is None or top_of_low < bottom_of_high
