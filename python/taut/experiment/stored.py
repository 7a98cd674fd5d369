"""A trial on the disk: whole under its name, or not there; a failed one keeps its logs."""

import errno
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from taut.core.credentials import hide_in
from taut.core.errors import InputError, TautError, TrialError
from taut.core.files import TEMPORARY_PREFIX, sync_all, sync_folder, write_json
from taut.experiment.cores import Cores
from taut.experiment.model import DeviceSpec
from taut.experiment.placed import describe_place
from taut.experiment.plan import Trial
from taut.host.state import HostStateError
from taut.records.documents.json_form import plain
from taut.records.documents.neighbour import NeighbourOfTrial
from taut.records.documents.trial import (
    FAILED,
    TRIAL_FILE,
    WHOLE,
    Dut,
    Failure,
    StateOfHost,
    TraceOfTrial,
    Traffic,
    TrialDocument,
)
from taut.records.rundir import RunDirectory
from taut.testbed.scope import RunScope


@dataclass
class TrialSoFar:
    """What is known of a trial that is under way: its trial.json even if it fails."""

    document: TrialDocument


Measure = Callable[[Trial, Path, TrialSoFar], None]
"""Measures one trial into a folder and adds to what is known; TrialError when it fails."""


def remove_unfinished(run: RunDirectory) -> None:
    """Remove what dead runs left of their trials; who calls it holds the run directory."""
    for path in run.trials_path.glob(f"{TEMPORARY_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def run_one(
    trial: Trial, run: RunDirectory, cores: Cores, measure: Measure, scope: RunScope
) -> TrialDocument:
    """Measure under a temporary name, rename when trial.json is written."""
    temporary = run.trials_path / f"{TEMPORARY_PREFIX}{trial.name}"
    final = run.trials_path / trial.name
    known = TrialSoFar(trial_document(trial, cores))
    try:
        scope.make_temp(temporary)
        _measure(trial, temporary, measure, known)
        _finish(temporary, final, known.document)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        scope.release_temp(temporary, final)
    return known.document


def _measure(trial: Trial, folder: Path, measure: Measure, known: TrialSoFar) -> None:
    try:
        measure(trial, folder, known)
    except HostStateError:
        raise  # No later trial would be of the state it names.
    except TrialError as error:
        _fail(known, error.reason, error.log_tail)
    except InputError as error:
        # An unusable clock or a missing interface at the first trial would fail all others, too.
        if not any(folder.parent.glob("[0-9]*")):
            raise
        _fail(known, str(error))
    except TautError as error:
        _fail(known, str(error))
    except OSError as error:
        _fail(known, _words_of(error))


def _fail(known: TrialSoFar, reason: str, log_tail: Sequence[str] = ()) -> None:
    failure = Failure(hide_in(reason), hide_in(tuple(log_tail)))
    known.document = replace(known.document, status=FAILED, failure=failure)


def _words_of(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; records are not whole"
    return f"{error.filename or 'system'}: {error.strerror or error}"


def _finish(temporary: Path, final: Path, document: TrialDocument) -> None:
    """Give the trial its name: from here on it is there."""
    if not document.is_whole:
        _drop_records(temporary)
    try:
        write_json(temporary / TRIAL_FILE, plain(document))
        # Or a power loss could leave a name that says whole, and empty files below it.
        sync_all(temporary)
        # Replaces a failed trial of the resumed run.
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
        sync_folder(final.parent)
    except OSError as error:
        raise TautError(
            f"{final.parent}: trial {final.name} cannot be stored: {_words_of(error)}; make room, "
            "then measure again (taut run and taut reproduce complete it with --resume)"
        ) from None


def _drop_records(folder: Path) -> None:
    """Remove a failed trial's records, since half of them mislead; logs and trial.json stay."""
    for path in folder.glob("*.parquet"):
        path.unlink()


def _neighbour_of(trial: Trial) -> NeighbourOfTrial | None:
    """Begin what is said of a trial's neighbour; nobody is not mentioned."""
    neighbour = trial.neighbour
    if neighbour is None or neighbour.does.is_idle:
        return None
    return NeighbourOfTrial(neighbour.name, neighbour.kind, n_workers=neighbour.workers)


def version_of(device: DeviceSpec) -> str:
    """Give a device's version as its trials have it."""
    return device.driver_options.told_version or device.dut.version()


def trial_document(trial: Trial, cores: Cores) -> TrialDocument:
    """Begin trial.json with what was asked for."""
    device, traffic = trial.device, trial.traffic
    return TrialDocument(
        index=trial.index,
        name=trial.name,
        status=WHOLE,
        repetition=trial.repetition,
        started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        dut=Dut(
            name=device.name,
            driver=device.driver,
            version=version_of(device),
            options=hide_in(device.driver_options.model_dump(mode="json")),
            link=device.link,
            placement=trial.place.name,
            placed=describe_place(trial.place),
            path="",
        ),
        host=StateOfHost(trial.host.name),
        neighbour=_neighbour_of(trial),
        traffic=Traffic(
            name=traffic.name,
            schedule=traffic.schedule,
            options=dict(traffic.options),
            frame=str(trial.frame),
            flows=traffic.flows,
            both=traffic.both,
            rate=trial.rate,
            rate_layer=traffic.rate_layer,
            offered_pps=trial.offered_pps,
            duration_ns=trial.duration_ns,
            warm_up_ns=trial.warm_up_ns,
            seed=trial.seed,
            record=trial.record,
        ),
        trace=TraceOfTrial(trial.trace, trial.why_not_traced or None),
        cores=cores.document(),
    )
