"""A whole run analysed: results.json, summary.json and the files in each trial's folder.

results.json is the list of trials.  summary.json holds what belongs to the run: the verdict, the
variants with their repetitions pooled, and the rules that were applied.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from taut.analysis.blocks import read_blocks
from taut.analysis.episode import Threshold
from taut.analysis.metrics import METRICS
from taut.analysis.pooling import Variant, pool, variant_of
from taut.analysis.trial_result import DISTRIBUTION, analyse_trial
from taut.analysis.verdict import verdict
from taut.core.files import write_json
from taut.core.workers import spread
from taut.records.rundir import AS_FOUND, RunDirectory, TrialDirectory
from taut.storage.engines import engine_kind, open_engine

RESULTS_FORMAT = 2
"""2: confidence intervals, and which percentiles are supported, count stalls, not packets."""

# A floor belongs to a variant when only the device differs; placement is the device's.
_FLOOR_KEYS = ("link", "host", "traffic", "frame", "both", "asked_pps")

Progress = Callable[[str], None]


def analyse_run(
    run: RunDirectory,
    engine_name: str = "duckdb",
    threshold: Threshold | None = None,
    progress: Progress = lambda _: None,
    *,
    engine_url: str | None = None,
) -> dict[str, Any]:
    """Analyse every trial, pool repetitions, judge the run; write and return the result."""
    threshold = threshold or Threshold()
    results = []
    trials = run.trials()
    analysed = _analyse_all(trials, engine_name, engine_url, threshold)
    for trial, result in zip(trials, analysed, strict=True):
        progress(trial.name)
        results.append(result)
    variants = _pool_variants(trials, results)
    _add_floors(results, variants)
    document = {
        "format": RESULTS_FORMAT,
        "verdict": verdict(variants, results),
        "variants": variants,
        "episode_threshold": {
            "factor_of_p50": threshold.factor,
            "least_above_p50_ns": threshold.least_above_ns,
        },
        "definitions": {m.name: {"unit": m.unit, "definition": m.definition} for m in METRICS},
        "n_failed": sum(r["status"] != "whole" for r in results),
    }
    write_json(run.path / "results.json", results)
    write_json(run.path / "summary.json", document)
    return {**document, "trials": results}


def _analyse_all(
    trials: Sequence[TrialDirectory], engine_name: str, url: str | None, threshold: Threshold
) -> Iterator[dict[str, Any]]:
    """One trial a core inside taut; a server is asked for one trial after the other."""
    if engine_kind(engine_name).is_embedded:
        yield from spread(partial(_analyse_one, engine_name, url, threshold), trials)
        return
    with open_engine(engine_name, url) as engine:
        for trial in trials:
            # Whoever names a server wants it to do the counting.
            yield analyse_trial(trial, engine, threshold, trust_histograms=False)


def _analyse_one(
    engine_name: str, url: str | None, threshold: Threshold, trial: TrialDirectory
) -> dict[str, Any]:
    with open_engine(engine_name, url) as engine:
        return analyse_trial(trial, engine, threshold)


def read_distribution(run: Path, trial: str) -> pa.Table:
    """The exact distributions of a trial that has been analysed."""
    return pq.read_table(run / "trials" / trial / DISTRIBUTION)


def is_measured(result: Mapping[str, Any]) -> bool:
    """Whether a trial has numbers: whole, and with at least its counters."""
    return result["status"] == "whole" and result["sent"] is not None


def _pool_variants(
    trials: Sequence[TrialDirectory], results: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    groups: dict[Variant, list[tuple[TrialDirectory, Mapping[str, Any]]]] = {}
    for trial, result in zip(trials, results, strict=True):
        if is_measured(result):
            groups.setdefault(variant_of(result), []).append((trial, result))
    rows = [
        pool(
            [result for _, result in members],
            [pq.read_table(trial.path / DISTRIBUTION) for trial, _ in members],
            read_blocks([trial.path for trial, _ in members]),
        )
        for members in groups.values()
    ]
    # The floor first, then by load, then the host as found before other states, then as measured.
    return sorted(
        rows,
        key=lambda r: (
            not r["is_floor"],
            str(r["traffic"]),
            r["asked_pps"] or 0,
            r["host"] != AS_FOUND,
        ),
    )


def _add_floors(results: Sequence[dict[str, Any]], variants: Sequence[dict[str, Any]]) -> None:
    """Put beside every trial what the same load shows with no device in its path."""
    floors = {
        tuple(row[key] for key in _FLOOR_KEYS): row["latency_ns"]
        for row in variants
        if row["is_floor"]
    }
    for row in [*results, *variants]:
        row["floor_ns"] = floors.get(tuple(row.get(key) for key in _FLOOR_KEYS))
