"""A trial on the disk: whole under its name, or not there; a failed one keeps its logs."""

import errno
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from taut.core.errors import InputError, TautError, TrialError
from taut.core.files import write_json
from taut.experiment.cores import Cores
from taut.experiment.plan import Trial
from taut.records.rundir import TEMPORARY_PREFIX, RunDirectory
from taut.testbed.scope import RunScope

TRIAL_FORMAT = 1

Measure = Callable[[Trial, Path, dict[str, Any]], None]
"""Measures one trial into a folder, filling in its trial.json; TrialError when it fails."""


def is_whole(meta: Mapping[str, Any]) -> bool:
    """Whether a trial.json says that its trial ended as planned."""
    return bool(meta["status"] == "whole")


def run_one(
    trial: Trial, run: RunDirectory, cores: Cores, measure: Measure, scope: RunScope
) -> dict[str, Any]:
    """Measure under a temporary name, rename when trial.json is written."""
    temporary = run.trials_path / f"{TEMPORARY_PREFIX}{trial.name}"
    final = run.trials_path / trial.name
    meta = trial_document(trial, cores)
    # Left by a run that died before anything cleaned up.
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        scope.make_temp(temporary)
        _measure(trial, temporary, measure, meta)
        _finish(temporary, final, meta)
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
        "host": {"name": trial.host.name, "remedies": [], "before": None, "after": None},
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
