"""The numbers of a matched pair of captures: what `taut analyze --json` prints.

Alone it takes packets as independent (n_eff is null): when they were late is counted where there
is a run directory.  Nothing heavy is imported: for nine million packets a side, pyarrow and an
engine would take longer to start than the matching takes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from taut.analysis.statistics import Integers, summary_of
from taut.capture.clocks import ClockEstimate, estimate_clocks

HISTOGRAM_BIN_NS = 100

Report = Mapping[str, Any]
"""What taut-match found: match.json."""

Series = Callable[[str], tuple[Integers, Integers]]
"""Values of a metric, ascending, and how often each occurred; the warm-up is left out."""

_METRICS = {
    "jitter": "RFC 4689",
    "ipdv": "RFC 5481",
    "inter_departure": "ingress time stamp minus that of the packet before it",
    "inter_arrival": "egress time stamp minus that of the packet received before it",
}


def capture_document(
    report: Report, counts: Mapping[str, int], series: Series, *, intervals: bool = False
) -> dict[str, Any]:
    """Make the document of `taut analyze --json`; intervals cost the start of scipy.

    `counts` and `series` come from the native matcher or from an engine: the same numbers.
    """
    latency = summary_of(*series("latency"), intervals=intervals)
    clocks = estimate_clocks(report["envelope"])
    document: dict[str, Any] = {
        "ingress": _side(report["ingress"]),
        "egress": _side(report["egress"]),
        **classes(counts),
        "skipped_warmup": counts["skipped_warmup"],
        "transfer_rate": transfer_rate(counts),
        "latency_ns": latency.as_json() | {"n_eff": latency.n_eff()},
        "unsupported_percentiles": latency.unsupported(),
    }
    for name, definition in _METRICS.items():
        summary = summary_of(*series(name), intervals=False)
        document[f"{name}_ns"] = {"definition": definition, **summary.as_json()}
    document |= {
        "histogram_ns": {"bin": HISTOGRAM_BIN_NS, "counts": histogram(*series("latency"))},
        "clocks": clocks.as_json(),
        **{name: report[name] for name in ("key", "window_ns", "skip_ns")},
        **{name: report[name] for name in ("egress_offset_ns", "egress_drift_ppb")},
        "warnings": warnings(report, counts, clocks),
    }
    if intervals:
        document["confidence_intervals"] = {p: list(i) for p, i in latency.intervals.items()}
    if counts["matched"] and not latency.n:
        document["warnings"].append("every matched packet is within --skip: nothing is measured")
    return document


def classes(counts: Mapping[str, int]) -> dict[str, Any]:
    """Frames by class, under the names of the document."""
    plain = ("matched", "lost", "duplicate_keys", "duplicates", "orphans", "negative")
    return {
        **{name: counts[name] for name in (*plain, "beyond_window", "out_of_sequence")},
        "ambiguous": {"ingress": counts["ambiguous_ingress"], "egress": counts["ambiguous_egress"]},
    }


def transfer_rate(counts: Mapping[str, int]) -> float | None:
    """Share of the packets sent that were received; None when none was sent."""
    sent = counts["matched"] + counts["lost"]
    return counts["matched"] / sent if sent else None


def histogram(values: Integers, n: Integers) -> list[list[int]]:
    """Packets by latency in bins of HISTOGRAM_BIN_NS: lower edge and count, empty bins left out."""
    bins: dict[int, int] = {}
    for value, count in zip((values // HISTOGRAM_BIN_NS).tolist(), n.tolist(), strict=True):
        bins[value * HISTOGRAM_BIN_NS] = bins.get(value * HISTOGRAM_BIN_NS, 0) + count
    return [[edge, count] for edge, count in sorted(bins.items())]


def failed_sums(counts: Mapping[str, int]) -> list[str]:
    """Say which sums of docs/matching.md do not come out; empty when all do."""
    sums = {
        "ingress_frames": ("matched", "lost", "ambiguous_ingress", "truncated_ingress"),
        "egress_frames": (
            *("matched", "duplicates", "beyond_window", "orphans"),
            *("ambiguous_egress", "truncated_egress"),
        ),
    }
    return [
        f"{name} is {counts[name]} but {' + '.join(parts)} is {sum(counts[p] for p in parts)}"
        for name, parts in sums.items()
        if counts[name] != sum(counts[p] for p in parts)
    ]


def warnings(report: Report, counts: Mapping[str, int], clocks: ClockEstimate) -> list[str]:
    """What a reader must know before believing the numbers, a line each."""
    sides = (report["ingress"], report["egress"])
    found = [str(note["text"]) for side in sides for note in side["notes"]]
    found += [f"sums do not reconcile: {failure}" for failure in failed_sums(counts)]
    if not counts["matched"]:
        found.append(_nothing_matched(report))
    if counts["negative"]:
        found.append(
            f"{counts['negative']} latencies are negative: the egress clock is behind, or the files"
            " were given in the wrong order"
        )
    if counts["ambiguous_ingress"]:
        found.append(
            f"{counts['ambiguous_ingress']} ingress frames share {counts['duplicate_keys']} keys "
            "and match nothing: give --key more or other bytes"
        )
    for side in ("ingress", "egress"):
        short = counts[f"truncated_{side}"]
        if short:
            found.append(
                f"{report[side]['path']}: {short} frames hold fewer bytes than the key needs; "
                "give --key bytes that were captured"
            )
    if clocks.is_drift_shown:
        found.append(
            f"the clocks drift by {clocks.drift_ppb:.3g} ± {clocks.drift_uncertainty_ppb:.2g} ns "
            "a second: --remove drift takes it off"
        )
    return found


def _nothing_matched(report: Report) -> str:
    ingress, egress = report["ingress"], report["egress"]
    if not ingress["frames"] or not egress["frames"]:
        return "nothing matched: a file has no frames"
    apart_ns = egress["first_ns"] - ingress["first_ns"]
    if abs(apart_ns) >= report["window_ns"]:
        return (
            f"nothing matched: the files start {apart_ns / 1e9:.6g} s apart, more than the window; "
            f"if their clocks differ, give --offset {apart_ns}ns"
        )
    return "nothing matched: the device changes bytes of the key; give --key those it leaves alone"


def _side(report: Report) -> dict[str, Any]:
    """One file: `truncated` is frames too short for the key and a last record cut off."""
    return {
        "path": report["path"],
        "frames": report["frames"],
        "truncated": report["too_short_for_key"] + report["cut_off"],
        "first_ns": report["first_ns"] if report["frames"] else None,
        "last_ns": report["last_ns"] if report["frames"] else None,
        **{name: report[name] for name in ("too_short_for_key", "cut_off", "snapped", "backwards")},
        "format": report["format"],
        "compression": report["compression"],
    }
