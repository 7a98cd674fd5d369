"""A soak that is checked afterwards: by its rows where they say, else by what segments recorded.

Rows are of every segment, whatever became of its records. They count packets above the limits that
the soak was asked for; of another limit, or of packets in a row, only records say anything.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from taut.analysis.judging import Judged, judge_run
from taut.analysis.pairing import read_analysis
from taut.analysis.proof import Verdict
from taut.analysis.soak_judging import judge_rows
from taut.core.errors import InputError
from taut.core.requirement import Requirement
from taut.records.documents.json_form import parse, read_json
from taut.records.documents.load import Device, Load
from taut.records.documents.results import Analysis, EpisodeThreshold, TrialResult
from taut.records.documents.soak import SOAK_FILE, SOAK_FOLDER, Row, Segment, SoakDocument
from taut.records.documents.trial import FAILED
from taut.records.rows import failing, refused
from taut.records.rundir import RunDirectory
from taut.records.segments import read_segments


def is_soak(run: RunDirectory) -> bool:
    """Whether a run is one trial for hours, in rows."""
    return (run.path / SOAK_FOLDER).is_dir()


def analysis_of(run: RunDirectory) -> Analysis:
    """Read or make a run's analysis; before the first trial of a soak has ended, none is kept."""
    if run.trials():
        return read_analysis(run)
    return Analysis("", (), EpisodeThreshold(0, 0), {}, n_failed=0)


def judge_soak(
    run: RunDirectory,
    analysis: Analysis,
    requirements: Sequence[Requirement],
    *,
    without_void: bool = False,
) -> list[Judged]:
    """Judge the device of a soak; InputError: nothing of it was measured."""
    kept = [one.segment for one in read_segments(run.path)]
    segments = [one for one in kept if one.rows and not one.start.is_control]
    if not segments:
        raise InputError(
            f"{run.path}: the device's first row is missing, so there is nothing to check; go on "
            "with `taut soak --resume`"
        )
    if without_void:
        segments = [replace(one, rows=tuple(map(_on_time, one.rows))) for one in segments]
    by_rows = [one for one in requirements if _is_counted(one, segments)]
    by_records = [one for one in requirements if one not in by_rows]
    names = tuple(one.start.trial for one in segments)
    trials = _trials(segments, analysis.trials)
    of = next((trial.device, trial.load, names) for trial in trials if trial.name in names)
    judgements = judge_rows(by_rows, segments, _n_planned(run, of[1]))
    found = [
        Judged(*of, one, Verdict(judged.verdict), judged.said, None, None, None)
        for one, judged in zip(by_rows, judgements, strict=True)
    ]
    if by_records:
        recorded = replace(analysis, trials=trials)
        found += judge_run(run, recorded, by_records, without_void=without_void)
    return sorted(found, key=lambda judged: requirements.index(judged.requirement))


def _n_planned(run: RunDirectory, load: Load) -> float:
    """Say how many packets the device was to get in all; inf: nobody knows, it was killed."""
    path = run.path / SOAK_FILE
    if not path.is_file() or load.asked_pps is None:
        return math.inf
    planned_ns = parse(SoakDocument, read_json(path), str(path)).planned_ns
    return load.asked_pps * (2 if load.both else 1) * planned_ns / 1e9


def _on_time(row: Row) -> Row:
    """Give a row without the packets that the generator itself held up."""
    lost = row.counters["lost"] - row.counters["lost_void"]
    own = {"void": 0, "lost": lost, "lost_void": 0, "unsent": refused(row)}
    counters = {**row.counters, **own}
    return replace(row, latency=row.on_time, above=row.above_on_time, counters=counters)


def _is_counted(one: Requirement, segments: Sequence[Segment]) -> bool:
    """Whether every row says how many packets fail a requirement."""
    rows = (row for segment in segments for row in segment.rows)
    return all(failing(one, row, own=True) is not None for row in rows)


def _trials(segments: Sequence[Segment], trials: Sequence[TrialResult]) -> tuple[TrialResult, ...]:
    """Give each trial as long as it measured, and a failed one for a segment that was killed."""
    measured = {one.start.trial: one.measured_ns for one in segments}
    found = [replace(trial, duration_ns=measured.get(trial.name, 0)) for trial in trials]
    devices = [trial.device for trial in found if trial.name in measured]
    device = devices[0] if devices else Device(segments[0].start.device)
    # Of a soak that was killed in its first segment there is no trial: nobody knows its load.
    load = trials[0].load if trials else Load()
    names = [name for name in measured if name not in {trial.name for trial in trials}]
    killed = [TrialResult(name, status=FAILED, device=device, load=load) for name in names]
    return (*found, *killed)
