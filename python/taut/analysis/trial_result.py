"""One trial's entry of results.json, and the files analysis leaves in the trial's folder."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis import hdr_export, statistics
from taut.analysis.blocks import BLOCKS, TimeCounts, count_by_time
from taut.analysis.budget import budgets_of, problems
from taut.analysis.capture_result import DEFINITIONS, classes, transfer_rate, warnings
from taut.analysis.content import search_capture
from taut.analysis.distribution import (
    Measured,
    add_plugins,
    measure_capture,
    measure_histogram,
    measure_packets,
    select_metric,
)
from taut.analysis.episode import Threshold, find_episodes
from taut.analysis.freed import give_back
from taut.analysis.interrupts import INTERRUPTS, count_interrupts
from taut.analysis.metric import Metric, Shape
from taut.analysis.metrics import METRICS
from taut.analysis.one_pass import OnePass, counted_in_one_pass
from taut.analysis.reconcile import by_warm_up, failed_sums
from taut.analysis.statistics import COLD, MAIN, WITHOUT_VOID, Summary
from taut.analysis.trial_names import device_of, load_of_trial
from taut.analysis.trial_tables import DISTRIBUTION, write_or_remove
from taut.analysis.trial_warnings import warnings_of
from taut.analysis.worst import WORST, worst_packets
from taut.capture.clocks import estimate_clocks
from taut.capture.native import HEADS
from taut.core.files import write_json
from taut.explain.export.document import kept_of
from taut.explain.tell.result import Options
from taut.explain.trial import explain_trial
from taut.records import tables
from taut.records.documents.capture import BothSides, CaptureResult
from taut.records.documents.content import CONTENT_FILE, ContentSearch
from taut.records.documents.figures import Figures
from taut.records.documents.generator import (
    INSTRUMENT_LIMIT,
    RATE_TOLERANCE,
    GeneratorResult,
    HistogramResolution,
)
from taut.records.documents.json_form import plain, read_document
from taut.records.documents.match import Capture
from taut.records.documents.results import Episodes, Metrics, TrialFigures, TrialResult
from taut.records.rundir import TrialDirectory
from taut.storage.engine import Engine

_STORIES = 10
"""Late episodes that results.json tells one by one."""

_EXACT = "exact: every packet"


def analyse_trial(
    trial: TrialDirectory,
    engine: Engine,
    threshold: Threshold,
    *,
    trust_histograms: bool = True,
    in_one_pass: bool = False,
) -> TrialResult:
    """Measure one trial; a failed one keeps its place without numbers.

    The exact distributions of a capture pair are counted when it is matched; `trust_histograms`
    takes them from there, otherwise the engine counts them again, packet by packet. `in_one_pass`
    has taut-count count the packets where it can.
    """
    result = _identity(trial)
    generator = trial.meta.generator
    if not trial.is_whole or generator is None or not generator.counters:
        return result
    with _one_pass(trial, threshold) if in_one_pass else nullcontext() as passed:
        measured = _measure(trial, engine, trust_histograms, passed)
        result = _analysed(result, trial, generator, engine, threshold, measured, passed)
    del measured, passed
    give_back()  # an explanation takes as much as these
    return _explained(result, trial)


def _analysed(
    result: TrialResult,
    trial: TrialDirectory,
    generator: GeneratorResult,
    engine: Engine,
    threshold: Threshold,
    measured: Measured,
    passed: OnePass | None,
) -> TrialResult:
    """Write the trial's files, and add what was measured to its result."""
    write_or_remove(trial.path / DISTRIBUTION, measured.distribution)
    # Histograms alone do not say when packets were late.
    times = None
    if measured.counts is not None:
        times = count_by_time(engine) if passed is None else passed.times
    blocks = None if times is None else times.blocks
    slowest = None
    if measured.counts is not None:
        slowest = worst_packets(engine, trial.packets) if passed is None else passed.worst
    write_or_remove(trial.path / BLOCKS, blocks)
    write_or_remove(trial.path / WORST, slowest)
    write_or_remove(trial.path / INTERRUPTS, count_interrupts(trial.path, trial.meta.trace))
    of_jitter = "RFC 4689 3.2.5, in the order sent and not across a loss (|IPDV|)"
    jitter = of_jitter if trial.meta.capture is None else DEFINITIONS["jitter"]
    figures = _figures(generator, measured, blocks, jitter)
    latency = figures.metrics.latency()
    if measured.counts is not None and latency.p50_ns is not None:
        late_above_ns = threshold.at(latency.p50_ns)
        figures = replace(figures, episodes=_episodes(trial, engine, late_above_ns, passed))
    result = replace(
        result,
        offered_pps=figures.offered_pps,
        figures=figures,
        device_use=generator.device_use,
        energy=generator.energy,
        warnings=(
            *warnings_of(figures, generator, trial.meta.dut),
            *measured.left_out.values(),
        ),
    )
    if figures.every_packet and (budgets := budgets_of(trial)) is not None:
        said = (*result.warnings, *problems(budgets))
        result = replace(result, budgets=budgets, warnings=said)
    if trial.meta.capture is not None:
        result = _with_capture(trial, trial.meta.capture, result, figures.metrics)
    _export(trial, generator, measured, times)
    return result


def _explained(result: TrialResult, trial: TrialDirectory) -> TrialResult:
    """Add why packets were late, where it was traced; a tail's threshold is one of all packets."""
    figures = result.figures
    if figures is None or not figures.every_packet or not figures.metrics.latency().n:
        return result
    if not (trial.path / tables.EVENTS).is_file():
        return result
    told = kept_of(explain_trial(trial.path, Options(n_worst=_STORIES)))
    return replace(result, explanation=told)


def _identity(trial: TrialDirectory) -> TrialResult:
    meta = trial.meta
    return TrialResult(
        name=trial.name,
        index=meta.index,
        repetition=meta.repetition,
        started_utc=meta.started_utc,
        status=meta.status,
        failure=meta.failure,
        device=device_of(meta),
        not_kept=None if meta.host.after is None else meta.host.after.lost or None,
        notes=meta.dut.notes,
        load=load_of_trial(meta),
        offered_pps=meta.traffic.offered_pps,
        duration_ns=meta.traffic.duration_ns,
        cores=meta.cores,
        trace=meta.trace,
    )


def _distributions() -> list[Metric]:
    return [m for m in METRICS if m.shape is Shape.DISTRIBUTION]


def _one_pass(
    trial: TrialDirectory, threshold: Threshold
) -> AbstractContextManager[OnePass | None]:
    """Count the packets in one pass; None where an engine has to, or not every one was recorded."""
    if not _has_every_packet(trial):
        return nullcontext()
    return counted_in_one_pass(trial.packets, trial.meta.traffic.flows or 1, threshold)


def _has_every_packet(trial: TrialDirectory) -> bool:
    return trial.meta.traffic.record == "all" and trial.packets.is_file()


def _measure(
    trial: TrialDirectory, engine: Engine, trust_histograms: bool, passed: OnePass | None
) -> Measured:
    """Use every packet when every packet was recorded, else the generator's histograms."""
    n_flows = trial.meta.traffic.flows or 1
    if trial.meta.capture is not None and trust_histograms:
        if passed is not None:
            measured = Measured(measure_histogram(trial.histogram).distribution, passed.counts)
        else:
            measured = measure_capture(engine, trial.packets, trial.histogram)
    elif passed is not None:
        measured = passed.measured()
    elif _has_every_packet(trial):
        return measure_packets(engine, trial.packets, n_flows)
    else:
        return measure_histogram(trial.histogram)
    return add_plugins(engine, trial.packets, n_flows, measured)


def _figures(
    generator: GeneratorResult, measured: Measured, blocks: pa.Table | None, jitter: str
) -> TrialFigures:
    """Make the counters of the whole trial, of its warm-up and of the rest, and its metrics.

    `jitter` is how that is defined.
    """
    counters = generator.counters
    failures = failed_sums(generator, measured.counts)
    offered, achieved = generator.offered_pps or 0.0, generator.achieved_pps or 0.0
    due, sent = counters["due"], counters["sent"]
    warm, cold = by_warm_up(counters, measured.counts)
    void_share = warm.void / warm.due if warm.due else 0.0
    loss_ratio = warm.lost / warm.sent if warm.sent else 0.0
    found = _metrics(measured, blocks, jitter)
    return TrialFigures(
        sent=sent,
        due=due,
        unsent=counters["unsent"],
        received=counters["received"],
        matched=counters["matched"],
        lost=counters["lost"],
        late=counters.get("late", 0),
        duplicates=counters.get("duplicates", 0),
        orphans=counters.get("orphans", 0),
        out_of_sequence=counters.get("out_of_sequence", 0),
        void=counters.get("void", 0),
        offered_pps=offered,
        achieved_pps=achieved,
        sums_reconcile=not failures,
        sums_failures=tuple(failures),
        loss_ratio=loss_ratio,
        void_share=void_share,
        instrument_limited=void_share > INSTRUMENT_LIMIT,
        rate_ok=_is_kept(achieved, offered) and due == sent > 0,
        warm=warm,
        cold=cold,
        every_packet=measured.counts is not None,
        resolution=_resolution(generator, measured),
        doubt=found.latency.doubt(),
        metrics=found.metrics,
        cold_metrics=found.cold,
        unsupported_percentiles_without_void=tuple(found.latency_without_void.unsupported()),
        loss_ratio_at_most=found.latency.failed_at_most(loss_ratio),
        foreign=counters.get("foreign", 0),
        sent_late=counters.get("sent_late"),
        granted_ns=generator.gaps.longest_granted_ns if generator.gaps else None,
        directions=generator.directions,
        by_direction=found.by_direction,
    )


def _is_kept(achieved_pps: float, offered_pps: float) -> bool:
    """Whether a rate is what was asked; captures of one packet tell none, and nobody asked."""
    if not offered_pps:
        return not achieved_pps
    return abs(achieved_pps / offered_pps - 1) <= RATE_TOLERANCE


def _resolution(generator: GeneratorResult, measured: Measured) -> str:
    if measured.counts is not None:
        return f"{_EXACT}; {measured.not_exact}" if measured.not_exact else _EXACT
    resolution = generator.histogram_resolution or HistogramResolution()
    below = "?" if resolution.exact_below_ns is None else resolution.exact_below_ns
    return (
        f"histogram: exact below {below} ns, above it a value is the lower "
        f"edge of a bucket, at most {100 * resolution.relative_above:.3g} % low"
    )


@dataclass(frozen=True)
class _Found:
    """The metrics of a trial, and for latency how far its percentiles are known."""

    metrics: Metrics
    cold: Metrics
    by_direction: Mapping[str, Metrics] | None
    latency: Summary
    latency_without_void: Summary


def _metrics(measured: Measured, blocks: pa.Table | None, jitter: str) -> _Found:
    directions = sorted({int(d.as_py()) for d in measured.distribution["direction"].unique()})
    populations = statistics.selections(directions)
    found = {
        metric.name: statistics.summarise(
            measured.distribution,
            metric.name,
            populations,
            intervals=metric.name == "latency",
            blocks=blocks if metric.name == "latency" else None,
        )
        for metric in _distributions()
    }
    figures = _of_populations(found, MAIN, WITHOUT_VOID)
    defined = replace(figures.all_packets["jitter"], definition=jitter)
    return _Found(
        metrics=replace(figures, all_packets={**figures.all_packets, "jitter": defined}),
        cold=Metrics(all_packets=_of_population(found, COLD)),
        by_direction={
            str(d): _of_populations(found, f"{MAIN}_{d}", f"{WITHOUT_VOID}_{d}") for d in directions
        }
        if len(directions) > 1
        else None,
        latency=found["latency"][MAIN],
        latency_without_void=found["latency"][WITHOUT_VOID],
    )


_Summaries = Mapping[str, Mapping[str, Summary]]
"""Summaries by name of the metric, then by population (statistics.selections)."""


def _of_populations(found: _Summaries, all_packets: str, without_void: str) -> Metrics:
    return Metrics(_of_population(found, without_void), _of_population(found, all_packets))


def _of_population(found: _Summaries, population: str) -> dict[str, Figures]:
    return {name: of[population].figures() for name, of in found.items()}


def _episodes(
    trial: TrialDirectory, engine: Engine, late_above_ns: int, passed: OnePass | None
) -> Episodes:
    gaps = trial.gaps if trial.gaps.is_file() else None
    if passed is not None:
        return passed.episodes(gaps, late_above_ns)
    return find_episodes(engine, gaps, late_above_ns)


def _with_capture(
    trial: TrialDirectory, report: Capture, result: TrialResult, metrics: Metrics
) -> TrialResult:
    """Add what only a pair of captures has: classes, clocks, the search by content."""
    clocks = estimate_clocks(report.envelope)
    capture = CaptureResult(
        classes=classes(report.counts),
        truncated=BothSides(report.counts.truncated_ingress, report.counts.truncated_egress),
        transfer_rate=transfer_rate(report.counts),
        clocks=clocks,
        key=report.key,
        window_ns=report.window_ns,
        skip_ns=report.skip_ns,
        content=_content(trial, report),
        together_with=report.together_with,
    )
    own = [w for w in result.warnings if not w.startswith("negative latency")]
    said = warnings(report, report.counts, clocks, metrics.all_packets)
    return replace(result, capture=capture, warnings=(*said, *own))


def _content(trial: TrialDirectory, report: Capture) -> ContentSearch | None:
    """Search by content, or read what an earlier search found; None: not asked for."""
    heads, content = trial.path / HEADS, trial.path / CONTENT_FILE
    if heads.is_file():
        found = search_capture(
            trial.path,
            trial.packets,
            together_with=[Path(other) / tables.HEADS for other in report.together_with],
            keep=trial.path / tables.HEADS,
            resolution_ns=report.resolution_ns,
        )
        write_json(content, plain(found))
        heads.unlink()
    return read_document(ContentSearch, content) if content.is_file() else None


def _export(
    trial: TrialDirectory, generator: GeneratorResult, measured: Measured, times: TimeCounts | None
) -> None:
    latency = select_metric(measured.distribution, "latency")
    warm = latency.filter(pc.invert(latency["is_cold"]))
    counts = hdr_export.whole(warm) if times is None else times.seconds
    interval_ns = None
    if times is None and generator.duration_ns is not None:
        warm_up_ns = trial.meta.traffic.warm_up_ns or 0
        interval_ns = warm_up_ns, max(generator.duration_ns - warm_up_ns, 0)
    # When a live run sent its first packet is not noted: the trial began long before.
    base, capture = None, trial.meta.capture
    if capture is not None and capture.ingress.frames:
        base = datetime.fromtimestamp(capture.ingress.first_ns / 1e9, UTC)
    hdr_export.write_both(trial.path / "latency", counts, base, interval_ns=interval_ns)
