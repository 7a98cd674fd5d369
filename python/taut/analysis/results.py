"""A whole run analysed: results.json, summary.json and the files in each trial's folder."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from taut.analysis.blocks import read_blocks
from taut.analysis.episode import Threshold
from taut.analysis.freed import give_back
from taut.analysis.metrics import METRICS
from taut.analysis.pooling import pool, variant_of
from taut.analysis.trial_result import analyse_trial
from taut.analysis.trial_tables import DISTRIBUTION, Distributions, read_distributions
from taut.analysis.verdict import verdict
from taut.analysis.worst import WORST
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.workers import spread
from taut.records.documents.figures import Figures
from taut.records.documents.json_form import plain
from taut.records.documents.load import Device, Load
from taut.records.documents.results import (
    RESULTS_FILE,
    SUMMARY_FILE,
    Analysis,
    EpisodeThreshold,
    MetricDefinition,
    Results,
    TrialResult,
    Variant,
    summary_document,
)
from taut.records.documents.trial import AS_FOUND, BARE
from taut.records.manifest import plugins_used, write_manifest
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.records.tables import TRIALS
from taut.storage.engines import engine_kind, open_engine
from taut.storage.lazy import LazyEngine
from taut.testbed.scratch import sweep

_FALLBACK = "duckdb"
"""The engine for what one pass cannot count, or was not recorded packet by packet."""


def analyse_run(
    run: RunDirectory,
    engine_name: str | None = None,
    *,
    engine_url: str | None = None,
) -> Analysis:
    """Analyse every trial, pool repetitions, judge the run; write and return the result.

    An engine that is named counts all packets; without one taut-count does, in one pass.
    InputError: an earlier analysis counted packets that are not there any more.
    """
    run.remove_unfinished()
    threshold = Threshold()
    trials = run.trials()
    _refuse_loss(trials)
    results = list(_analyse_all(trials, engine_name, engine_url, threshold))
    variants = _pool_variants(trials, results)
    floors = {_path_of(row.device, row.load): row.latency for row in variants if row.is_floor}
    analysis = Analysis(
        verdict=verdict(variants, results),
        variants=tuple(replace(row, floor=_floor(row, floors)) for row in variants),
        episode_threshold=EpisodeThreshold(threshold.factor, threshold.least_above_ns),
        definitions={m.name: MetricDefinition(m.unit, m.definition) for m in METRICS},
        n_failed=sum(not result.is_whole for result in results),
        trials=tuple(replace(result, floor=_floor(result, floors)) for result in results),
    )
    write_json(run.path / RESULTS_FILE, plain(Results(analysis.trials)))
    write_json(run.path / SUMMARY_FILE, summary_document(analysis))
    _note_plugins(run)
    return analysis


def _note_plugins(run: RunDirectory) -> None:
    """Have the manifest say whose metrics and causes the results hold besides taut's own."""
    manifest = run.manifest_or_none()
    found = plugins_used("taut.metrics", "taut.causes") or None
    if manifest is not None and manifest.analysed_with != found:
        write_manifest(run.path, replace(manifest, analysed_with=found))


def analyse_measured(run: RunDirectory) -> Analysis:
    """Analyse what was just measured; the manifest keeps what interrupts cost meanwhile."""
    analysis = analyse_run(run)
    found = {
        trial.name: trial.explanation.calibration
        for trial in analysis.trials
        if trial.explanation is not None and trial.explanation.calibration is not None
    }
    if found:
        write_manifest(run.path, replace(run.manifest(), calibration=found))
    return analysis


def _refuse_loss(trials: Sequence[TrialDirectory]) -> None:
    """InputError: a new analysis would put less in the place of what was found before."""
    for trial in trials:
        if (trial.path / WORST).is_file() and not trial.packets.is_file():
            raise InputError(
                f"{trial.packets}: not there, so the run cannot be analysed again; "
                "`taut pack --without-records` leaves it out"
            )


def _analyse_all(
    trials: Sequence[TrialDirectory], engine_name: str | None, url: str | None, threshold: Threshold
) -> Iterator[TrialResult]:
    """Analyse as many trials at once as there are cores; with a server, one after the other."""
    if engine_kind(engine_name or _FALLBACK, url).is_embedded:
        try:
            yield from spread(partial(_analyse_one, engine_name, threshold), trials)
        finally:
            sweep()  # where a trial fails, and after Ctrl-C, the helpers are killed at others
        return
    with open_engine(engine_name or _FALLBACK, url) as engine:
        for trial in trials:
            # Whoever names a server wants it to do the counting.
            yield analyse_trial(trial, engine, threshold, trust_histograms=False)


def _analyse_one(
    engine_name: str | None, threshold: Threshold, trial: TrialDirectory
) -> TrialResult:
    with LazyEngine(engine_name or _FALLBACK) as engine:
        result = analyse_trial(trial, engine, threshold, in_one_pass=engine_name is None)
    # Before the next trial, or the figures: Arrow keeps what it freed.
    give_back()
    return result


def read_distribution(run: Path, trial: str) -> pa.Table:
    """The exact distributions of a trial that has been analysed."""
    return read_distributions(run / TRIALS / trial / DISTRIBUTION)


def is_measured(result: TrialResult) -> bool:
    """Whether a trial has numbers: whole, and with at least its counters."""
    return result.is_whole and result.figures is not None


def _pool_variants(
    trials: Sequence[TrialDirectory], results: Sequence[TrialResult]
) -> list[Variant]:
    groups: dict[tuple[object, ...], list[tuple[TrialDirectory, TrialResult]]] = {}
    for trial, result in zip(trials, results, strict=True):
        if is_measured(result):
            groups.setdefault(variant_of(result), []).append((trial, result))
    rows = [
        pool(
            [result for _, result in members],
            [Distributions(trial.path / DISTRIBUTION) for trial, _ in members],
            read_blocks([trial.path for trial, _ in members]),
        )
        for members in groups.values()
    ]
    # The floor first, then by load, then the host as found before other states, nobody before
    # neighbours, then as measured.
    return sorted(
        rows,
        key=lambda r: (
            not r.is_floor,
            str(r.load.traffic),
            r.load.asked_pps or 0,
            r.device.host != AS_FOUND,
            r.device.place != BARE,
            r.device.neighbour is not None,
        ),
    )


def _path_of(device: Device, load: Load) -> tuple[object, ...]:
    """Give what a variant and its floor have in common: all but the device and its placement."""
    around = device.host, device.beside
    return device.link, *around, load.traffic, load.frame, load.both, load.asked_pps


def _floor(row: Variant | TrialResult, floors: dict[tuple[object, ...], Figures]) -> Figures | None:
    """Find what the same load shows with no device in its path."""
    return floors.get(_path_of(row.device, row.load))
