"""Repetitions of one variant put together: their packets counted as one population.

Distributions are merged (n added up), never percentiles averaged.  Repetitions that disagree are
flagged, since a merged curve of two bands describes neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from taut.analysis.distribution import merge
from taut.analysis.reconcile import COUNTERS, PACKETS
from taut.analysis.statistics import COLD, MAIN, WITHOUT_VOID, Summary, selections, summarise
from taut.records.rundir import AS_FOUND

LOOPBACK = "loopback"
"""The driver without a device: the instrument's floor."""

BAND = 0.20
"""Medians further apart than this, and than their confidence intervals, are two bands."""

POOLED_METRICS = ("latency", "latency_from_intent", "jitter", "departure_error")

_CONDITION = ("link", "placement", "host", "traffic", "frame", "both", "asked_pps")


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


def pool(
    results: Sequence[Mapping[str, Any]],
    distributions: Sequence[pa.Table],
    blocks: pa.Table | None = None,
) -> dict[str, Any]:
    """Make the table row of one variant from its whole trials.

    Its packets, losses and void share are of the same packets as its latencies: those after the
    warm-up, which has its own row. `blocks` are those of all trials one after the other; None where
    packets were not recorded.
    """
    first = results[0]
    distribution = merge(distributions)
    row: dict[str, Any] = {
        name: first.get(name)
        for name in ("dut", "driver", "link", "placement", "path", "traffic", "schedule", "frame")
    }
    row["host"] = first.get("host") or AS_FOUND
    row |= {"schedule_options": first.get("schedule_options") or {}, "flows": first.get("flows")}
    row |= {"both": first.get("both"), "asked_pps": first.get("asked_pps")}
    row |= {"is_floor": variant_of(first).is_floor, "trials": [r["name"] for r in results]}
    row |= {name: sum(r[name] or 0 for r in results) for name in COUNTERS if name not in PACKETS}
    row |= {name: sum(r["warm"][name] for r in results) for name in PACKETS}
    row |= _rates(results)
    for metric in POOLED_METRICS:
        is_latency = metric == "latency"
        summaries = summarise(
            distribution,
            metric,
            selections([0]),
            intervals=is_latency,
            blocks=blocks if is_latency else None,
        )
        row[f"{metric}_ns"] = summaries[MAIN].as_json()
        row[f"{metric}_without_void_ns"] = summaries[WITHOUT_VOID].as_json()
        if is_latency:
            row |= summaries[MAIN].doubt()
            row["loss_ratio_at_most"] = summaries[MAIN].failed_at_most(row["loss_ratio"])
            row["unsupported_percentiles_without_void"] = summaries[WITHOUT_VOID].unsupported()
            row["warm_up"] = _warm_up(results, summaries[COLD])
    row["p50_of_repetitions"] = [r["latency_ns"]["p50"] for r in results]
    row["two_bands"] = has_two_bands(results)
    return row


def _warm_up(results: Sequence[Mapping[str, Any]], latency: Summary) -> dict[str, Any]:
    """Make the warm-up's own row; counters are None where an older trial did not split them."""
    row: dict[str, Any] = {}
    for name in PACKETS:
        values = [r["cold"][name] for r in results]
        row[name] = None if None in values else sum(values)
    return row | {
        "latency_ns": latency.as_json(),
        **latency.doubt(),
        "loss_ratio_at_most": None,
    }


def _rates(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    n = len(results)
    due, sent, void, lost = (
        sum(r["warm"][name] for r in results) for name in ("due", "sent", "void", "lost")
    )
    granted = [r["granted_ns"] for r in results if r["granted_ns"] is not None]
    return {
        "offered_pps": sum(r["offered_pps"] for r in results) / n,
        "achieved_pps": sum(r["achieved_pps"] for r in results) / n,
        "void_share": void / due if due else 0.0,
        "loss_ratio": lost / sent if sent else 0.0,
        "granted_ns": max(granted, default=None),
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
