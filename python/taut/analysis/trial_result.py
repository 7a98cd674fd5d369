"""One trial's entry of results.json, and the files analysis leaves in the trial's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from taut.analysis import hdr_export, statistics
from taut.analysis.blocks import BLOCKS, TimeCounts, count_by_time
from taut.analysis.capture_result import classes, transfer_rate, warnings
from taut.analysis.content import search_capture
from taut.analysis.distribution import (
    Measured,
    measure_capture,
    measure_histogram,
    measure_packets,
    select_metric,
)
from taut.analysis.episode import Threshold, find_episodes
from taut.analysis.load import share_words
from taut.analysis.metric import Metric, Shape
from taut.analysis.metrics import METRICS
from taut.analysis.reconcile import COUNTERS, by_warm_up, failed_sums
from taut.analysis.statistics import COLD, MAIN, WITHOUT_VOID
from taut.capture.clocks import estimate_clocks
from taut.capture.companions import KEPT_FRAMES
from taut.capture.native import HEADS
from taut.core.files import write_json
from taut.explain.export.document import kept_of
from taut.explain.read.events import EVENTS
from taut.explain.tell.result import Options
from taut.explain.trial import explain_trial
from taut.records.rundir import AS_FOUND, TrialDirectory, read_json
from taut.storage.engine import Engine

DISTRIBUTION = "distribution.parquet"
CONTENT = "content.json"

INSTRUMENT_LIMIT = 0.01
"""A larger share of void packets makes a trial one of the generator, not of the device."""

RATE_TOLERANCE = 0.001

_STORIES = 10
"""Late episodes that results.json tells one by one."""

_EXACT = "exact: every packet"


def analyse_trial(
    trial: TrialDirectory, engine: Engine, threshold: Threshold, *, trust_histograms: bool = True
) -> dict[str, Any]:
    """Measure one trial; a failed one keeps its place with empty numbers.

    The exact distributions of a capture pair are counted when it is matched; `trust_histograms`
    takes them from there, otherwise the engine counts them again, packet by packet.
    """
    result = _identity(trial)
    generator = trial.meta.get("generator")
    if not trial.is_whole or not generator:
        return result
    measured = _measure(trial, engine, trust_histograms)
    pq.write_table(measured.distribution, trial.path / DISTRIBUTION, compression="zstd")
    # Histograms alone do not say when packets were late.
    times = count_by_time(engine) if measured.counts is not None else None
    blocks = None if times is None else times.blocks()
    if blocks is None:
        (trial.path / BLOCKS).unlink(missing_ok=True)
    else:
        pq.write_table(blocks, trial.path / BLOCKS, compression="zstd")
    result |= _counters(generator, measured)
    result |= _metrics(measured, blocks, result["loss_ratio"])
    result |= _episodes(trial, engine, threshold, measured, result["latency_ns"]["p50"])
    result["warnings"] = _warnings(result, generator)
    if "capture" in trial.meta:
        result |= _capture(trial, result)
    # A tail's threshold is a percentile of all packets.
    if (trial.path / EVENTS).is_file() and result["every_packet"] and result["latency_ns"]["n"]:
        explanation = explain_trial(trial.path, Options(n_worst=_STORIES))
        result["explanation"] = kept_of(explanation)
    _export(trial, measured, times)
    return result


def _identity(trial: TrialDirectory) -> dict[str, Any]:
    meta = trial.meta
    dut, traffic = meta.get("dut") or {}, meta.get("traffic") or {}
    empty = dict.fromkeys(COUNTERS) | {f"{m.name}_ns": None for m in _distributions()}
    return {
        "name": trial.name,
        "index": meta.get("index"),
        "repetition": meta.get("repetition"),
        "status": meta.get("status"),
        "failure": meta.get("failure"),
        "dut": dut.get("name"),
        "driver": dut.get("driver"),
        "link": dut.get("link"),
        "placement": dut.get("placement"),
        "host": (meta.get("host") or {}).get("name", AS_FOUND),
        "path": dut.get("path"),
        "notes": list(dut.get("notes") or []),
        "traffic": traffic.get("name"),
        "schedule": traffic.get("schedule"),
        "schedule_options": dict(traffic.get("options") or {}),
        "frame": traffic.get("frame"),
        "flows": traffic.get("flows"),
        "both": traffic.get("both"),
        "asked_pps": traffic.get("offered_pps"),
        "offered_pps": traffic.get("offered_pps"),
        "duration_ns": traffic.get("duration_ns"),
        "cores": meta.get("cores"),
        "trace": meta.get("trace"),
        "achieved_pps": None,
        **empty,
        "floor_ns": None,
        "warnings": [],
    }


def _distributions() -> list[Metric]:
    return [m for m in METRICS if m.shape is Shape.DISTRIBUTION]


def _measure(trial: TrialDirectory, engine: Engine, trust_histograms: bool) -> Measured:
    """Use every packet when every packet was recorded, else the generator's histograms."""
    traffic = trial.meta["traffic"]
    if "capture" in trial.meta and trust_histograms:
        return measure_capture(engine, trial.packets, trial.histogram)
    if traffic.get("record", "all") == "all" and trial.packets.is_file():
        return measure_packets(engine, trial.packets, int(traffic.get("flows") or 1))
    return measure_histogram(engine, trial.histogram)


def _counters(generator: Mapping[str, Any], measured: Measured) -> dict[str, Any]:
    """Counters of the whole trial, which reconcile, and of what is after the warm-up and in it."""
    counters = generator["counters"]
    failures = failed_sums(generator, measured.counts)
    offered, achieved = generator["offered_pps"], generator["achieved_pps"]
    due, sent = counters["due"], counters["sent"]
    warm, cold = by_warm_up(counters, measured.counts)
    void_share = warm["void"] / warm["due"] if warm["due"] else 0.0
    return {
        "offered_pps": offered,
        "achieved_pps": achieved,
        **{name: counters.get(name) for name in COUNTERS},
        "foreign": counters.get("foreign", 0),
        "sent_late": counters.get("sent_late"),
        "sums_reconcile": not failures,
        "sums_failures": failures,
        "loss_ratio": warm["lost"] / warm["sent"] if warm["sent"] else 0.0,
        "void_share": void_share,
        "instrument_limited": void_share > INSTRUMENT_LIMIT,
        "rate_ok": bool(
            offered and abs(achieved / offered - 1) <= RATE_TOLERANCE and due == sent > 0
        ),
        "warm": warm,
        "cold": cold,
        "granted_ns": (generator.get("gaps") or {}).get("longest_granted_ns"),
        "directions": [dict(d) for d in generator.get("directions", [])],
        "every_packet": measured.counts is not None,
        "resolution": _resolution(generator, measured),
    }


def _resolution(generator: Mapping[str, Any], measured: Measured) -> str:
    if measured.counts is not None:
        return _EXACT
    of = generator.get("histogram_resolution") or {}
    return (
        f"histogram: exact below {of.get('exact_below_ns', '?')} ns, above it a value is the lower "
        f"edge of a bucket, at most {100 * float(of.get('relative_above', 0)):.3g} % low"
    )


def _metrics(measured: Measured, blocks: pa.Table | None, loss_ratio: float) -> dict[str, Any]:
    directions = sorted({int(d.as_py()) for d in measured.distribution["direction"].unique()})
    populations = statistics.selections(directions)
    found: dict[str, Any] = {"by_direction": {str(d): {} for d in directions}}
    cold: dict[str, Any] = {}
    for metric in _distributions():
        is_latency = metric.name == "latency"
        summaries = statistics.summarise(
            measured.distribution,
            metric.name,
            populations,
            intervals=is_latency,
            blocks=blocks if is_latency else None,
        )
        found[f"{metric.name}_ns"] = summaries[MAIN].as_json()
        found[f"{metric.name}_without_void_ns"] = summaries[WITHOUT_VOID].as_json()
        cold[f"{metric.name}_ns"] = summaries[COLD].as_json()
        if len(directions) > 1:
            for d in directions:
                into = found["by_direction"][str(d)]
                into[f"{metric.name}_ns"] = summaries[f"{MAIN}_{d}"].as_json()
                into[f"{metric.name}_without_void_ns"] = summaries[f"{WITHOUT_VOID}_{d}"].as_json()
        if is_latency:
            found |= summaries[MAIN].doubt()
            found["loss_ratio_at_most"] = summaries[MAIN].failed_at_most(loss_ratio)
            found["unsupported_percentiles_without_void"] = summaries[WITHOUT_VOID].unsupported()
    found["jitter_ns"]["definition"] = "RFC 4689"
    if len(directions) < 2:
        del found["by_direction"]
    return {**found, "cold_metrics": cold}


def _episodes(
    trial: TrialDirectory,
    engine: Engine,
    threshold: Threshold,
    measured: Measured,
    p50_ns: int | None,
) -> dict[str, Any]:
    if measured.counts is None or p50_ns is None:
        return {"episodes": None}
    gaps = trial.gaps if trial.gaps.is_file() else None
    return {"episodes": find_episodes(engine, gaps, threshold.at(p50_ns))}


def _warnings(result: Mapping[str, Any], generator: Mapping[str, Any]) -> list[str]:
    found: list[str] = [f"sums do not reconcile: {s}" for s in result["sums_failures"]]
    if not result["rate_ok"]:
        found.append(
            f"rate: {result['achieved_pps']:.0f} of {result['offered_pps']:.0f} pkt/s achieved, "
            f"{result['unsent']} unsent"
        )
    if result["instrument_limited"]:
        found.append(f"instrument-limited: {share_words(result['void_share'])} of packets are void")
    least = result["latency_ns"]["min"]
    if least is not None and least < 0:
        found.append(f"negative latency: {least} ns; the clock or the stamps are wrong")
    gaps = generator.get("gaps") or {}
    if gaps.get("not_logged"):
        found.append(f"{gaps['not_logged']} gaps of the generator were not logged, only counted")
    if not result["matched"]:
        found.append("no packet came back")
    return found


def _capture(trial: TrialDirectory, result: Mapping[str, Any]) -> dict[str, Any]:
    """What only a pair of captures has: classes, clocks, the search by content."""
    report = trial.meta["capture"]
    clocks = estimate_clocks(report["envelope"])
    return {
        "capture": {
            **classes(report["counts"]),
            "truncated": {s: report["counts"][f"truncated_{s}"] for s in ("ingress", "egress")},
            "transfer_rate": transfer_rate(report["counts"]),
            "clocks": clocks.as_json(),
            "key": report["key"],
            "window_ns": report["window_ns"],
            "skip_ns": report["skip_ns"],
            "content": _content(trial),
            "together_with": report.get("together_with", []),
        },
        "warnings": warnings(report, report["counts"], clocks)
        + [w for w in result["warnings"] if not w.startswith("negative latency")],
    }


def _content(trial: TrialDirectory) -> dict[str, Any] | None:
    """Search by content while the frames' heads are there, which is once; None: not asked for."""
    heads, content = trial.path / HEADS, trial.path / CONTENT
    if heads.is_file():
        others = trial.meta["capture"].get("together_with", [])
        found = search_capture(
            trial.path,
            trial.packets,
            together_with=[Path(other) / KEPT_FRAMES for other in others],
            keep=trial.path / KEPT_FRAMES,
        )
        write_json(content, found.as_json())
        heads.unlink()
    return read_json(content) if content.is_file() else None


def _export(trial: TrialDirectory, measured: Measured, times: TimeCounts | None) -> None:
    if times is not None:
        by_interval = hdr_export.intervals(times)
    else:
        by_interval = hdr_export.whole(_warm(select_metric(measured.distribution, "latency")))
    hdr_export.write_hgrm(trial.path / "latency.hgrm", by_interval)
    started = trial.meta.get("started_utc")
    hdr_export.write_hlog(trial.path / "latency.hlog", by_interval, started)


def _warm(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows["is_cold"]))
