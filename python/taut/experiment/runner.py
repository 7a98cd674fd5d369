"""A plan carried out into a run directory: whole trials or none, resumable, interruptible."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from taut.core.errors import InputError, TautError, TrialError
from taut.core.files import write_json
from taut.core.manifest import make_manifest, write_manifest
from taut.experiment.cores import Cores, assign_cores, read_topology
from taut.experiment.glance import glance_at
from taut.experiment.plan import Plan, Trial
from taut.experiment.progress import Progress, Silent
from taut.experiment.spec import spec_hash
from taut.experiment.trial import Testbench
from taut.host.audit import as_document, find_situation, run_audit
from taut.host.fingerprint import fingerprint
from taut.host.host import Host
from taut.records.rundir import TEMPORARY_PREFIX, RunDirectory
from taut.testbed import cleanup
from taut.testbed.scope import RunScope

TRIAL_FORMAT = 1

Measure = Callable[[Trial, Path, dict[str, Any]], None]
"""Measures one trial into a folder, filling in its trial.json; TrialError when it fails."""


@dataclass(frozen=True)
class Origin:
    """Where a plan came from, for the manifest."""

    text: str = ""
    source: str = ""
    overrides: Sequence[str] = ()
    command_line: Sequence[str] = ()


def run_plan(
    plan: Plan,
    out: Path,
    resume: bool = False,
    progress: Progress | None = None,
    origin: Origin = Origin(),
) -> RunDirectory:
    """Run every trial that is missing in `out`; InterruptedRun's remains are whole trials."""
    progress = progress or Silent()
    run = open_run(plan, out, resume)
    host = Host()
    cores = assign_cores(plan.spec.cores, read_topology(host))
    warnings = list(cores.notes)
    with RunScope() as scope:
        cleanup.clean(scope.base)
        warnings += scope.others()
        bench = Testbench(plan, scope, cores, progress.ticked, progress.warned)
        with pinned_to(cores.runner):
            bench.check_clock()
            cannot_trace = bench.check_tracing()
            if cannot_trace is not None:
                warnings.append(f"not traced, late packets will have no cause: {cannot_trace}")
            bench.add_hugepages()
            _write_manifest(run, plan, origin, host, cores, warnings)
            for warning in warnings:
                progress.warned(warning)
            run_trials(plan, run, cores, bench.measure, scope, progress)
    return RunDirectory(out)


def run_trials(
    plan: Plan,
    run: RunDirectory,
    cores: Cores,
    measure: Measure,
    scope: RunScope,
    progress: Progress,
) -> None:
    """Run what has no whole trial yet, one after the other; a failed one does not stop the rest."""
    done = {trial.name for trial in run.trials() if trial.is_whole}
    progress.started(plan, sum(trial.name in done for trial in plan.trials))
    for trial in plan.trials:
        if trial.name in done:
            continue
        progress.trial_started(trial)
        meta = _run_one(trial, run, cores, measure, scope)
        folder = run.trials_path / trial.name
        progress.trial_finished(trial, meta, glance_at(folder, meta) if is_whole(meta) else {})


def is_whole(meta: Mapping[str, Any]) -> bool:
    """Whether a trial.json says that its trial ended as planned."""
    return bool(meta["status"] == "whole")


def open_run(plan: Plan, out: Path, resume: bool) -> RunDirectory:
    """Make the run directory, or take the one to resume; never mix two experiments in one."""
    run = RunDirectory(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: not a folder; give another --out")
    if _holds_a_run(run):
        if not resume:
            raise InputError(f"{out}: not empty; give another --out, or --resume to complete it")
        stored = run.manifest().get("spec", {}).get("hash")
        if stored != spec_hash(plan.spec):
            raise InputError(
                f"{out}: holds another experiment than this one; resume with the same file, --set "
                "and --trace, or give another --out"
            )
    try:
        run.trials_path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written: {error.strerror}; give another --out"
        ) from None
    return run


def _holds_a_run(run: RunDirectory) -> bool:
    """Whether there is anything to spoil: a run killed before its manifest left an empty folder."""
    if not run.path.is_dir():
        return False
    trials = run.trials_path
    return any(p != trials for p in run.path.iterdir()) or (
        trials.is_dir() and any(trials.iterdir())
    )


@contextmanager
def pinned_to(core: int) -> Iterator[None]:
    """Keep taut itself on one core while it measures."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run_one(
    trial: Trial, run: RunDirectory, cores: Cores, measure: Measure, scope: RunScope
) -> dict[str, Any]:
    """Measure under a temporary name, rename when trial.json is written."""
    temporary = run.trials_path / f"{TEMPORARY_PREFIX}{trial.name}"
    meta = trial_document(trial, cores)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        scope.make_temp(temporary)
        _measure(trial, temporary, measure, meta)
        _finish(temporary, run.trials_path / trial.name, meta)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        scope.release_temp(temporary, final)
    return meta


def _measure(trial: Trial, folder: Path, measure: Measure, meta: dict[str, Any]) -> None:
    try:
        measure(trial, folder, meta)
    except TrialError as error:
        _fail(meta, error.reason, error.log_tail)
    except InputError as error:
        # An unusable clock, a missing interface: seen at the first trial, it holds for all.
        if not any(folder.parent.glob("[0-9]*")):
            raise
        _fail(meta, str(error))
    except TautError as error:
        _fail(meta, str(error))
    except OSError as error:
        _fail(meta, _words_of(error))


def _fail(meta: dict[str, Any], reason: str, log_tail: Sequence[str] = ()) -> None:
    meta["status"] = "failed"
    meta["failure"] = {"reason": reason, "log_tail": list(log_tail)}


def _words_of(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; records are not whole"
    return f"{error.filename or 'system'}: {error.strerror or error}"


def _finish(temporary: Path, final: Path, meta: dict[str, Any]) -> None:
    """Give the trial its name: from here on it is there."""
    if not is_whole(meta):
        _drop_records(temporary)
    try:
        write_json(temporary / "trial.json", meta)
        # A failed trial of the run that is resumed gives way.
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
    except OSError as error:
        raise TautError(
            f"{final.parent}: trial {final.name} cannot be stored: {_words_of(error)}; make room "
            "and complete the run with --resume"
        ) from None


def _drop_records(folder: Path) -> None:
    """A failed trial keeps its logs and its trial.json: half a file of packets misleads."""
    for path in folder.glob("*.parquet"):
        path.unlink()


def trial_document(trial: Trial, cores: Cores) -> dict[str, Any]:
    """Begin trial.json with what was asked for."""
    device, traffic = trial.device, trial.traffic
    return {
        "format": TRIAL_FORMAT,
        "index": trial.index,
        "name": trial.name,
        "status": "whole",
        "failure": None,
        "repetition": trial.repetition,
        "started_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "dut": {
            "name": device.name,
            "driver": device.driver,
            "version": device.dut.version(),
            "options": device.driver_options.model_dump(mode="json"),
            "link": device.link,
            "placement": device.placement,
            "path": "",
            "notes": [],
            "stats": None,
        },
        "traffic": {
            "name": traffic.name,
            "schedule": traffic.schedule,
            "options": dict(traffic.options),
            "frame": str(trial.frame),
            "flows": traffic.flows,
            "both": traffic.both,
            "rate": trial.rate,
            "rate_layer": traffic.rate_layer,
            "offered_pps": trial.offered_pps,
            "duration_ns": trial.duration_ns,
            "warm_up_ns": trial.warm_up_ns,
            "seed": trial.seed,
            "record": trial.record,
        },
        "trace": {"mode": trial.trace, "why_not": trial.why_not_traced or None},
        "cores": cores.as_json(),
        "clock": {"before": None, "after": None},
        "generator": None,
        "logs": [],
    }


def _write_manifest(
    run: RunDirectory,
    plan: Plan,
    origin: Origin,
    host: Host,
    cores: Cores,
    warnings: Sequence[str],
) -> None:
    """Write manifest.json; a resumed run keeps the first one and appends what differs now."""
    document = make_manifest(
        host=fingerprint(host, _pci_addresses(plan)),
        spec={
            "name": plan.spec.name,
            "source": origin.source,
            "text": origin.text,
            "overrides": list(origin.overrides),
            "hash": spec_hash(plan.spec),
            "resolved": plan.spec.model_dump(mode="json", by_alias=True),
        },
        # Each trial.json holds its own, derived from this one.
        seeds={"experiment": plan.spec.seed},
        command_line=origin.command_line,
    )
    document["order"] = [trial.name for trial in plan.trials]
    document["warnings"] = list(warnings)
    document["audit"] = _audit(host, cores)
    if (run.path / "manifest.json").exists():
        first = run.manifest()
        resumed = [*first.get("resumed", []), {k: v for k, v in document.items() if k != "spec"}]
        known = first.get("warnings", [])
        added = [warning for warning in warnings if warning not in known]
        document = {**first, "resumed": resumed, "warnings": [*known, *added]}
    write_manifest(run.path, document)


def _audit(host: Host, cores: Cores) -> dict[str, Any]:
    """Every check of the host for the cores of this run; counters are not watched."""
    polled = tuple(sorted({cores.generator, cores.device}))
    return as_document(run_audit(host, replace(find_situation(host), cores=polled)))


def _pci_addresses(plan: Plan) -> list[str]:
    wired = plan.spec.links.get("pci", {})
    return [str(address) for side in wired.values() for address in side]
