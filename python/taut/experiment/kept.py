"""Trials asked for one at a time, by a run whose course depends on what it measures.

What the run directory has already is taken before anything is measured, in the order it ran: asked
the same again, a resumed run gives the same answers, and goes on where the first one ended.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from taut.core.errors import TrialError
from taut.experiment.model import DeviceSpec, Spec, TrafficSpec
from taut.experiment.plan import Plan, make_plan
from taut.experiment.runner import Session
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TRIAL_FILE, Failure, TrialDocument


class Key(NamedTuple):
    """What trials have in common that may stand for each other."""

    device: str
    traffic: str
    frame: str
    rate: str
    duration_ns: int


class Kept(NamedTuple):
    """A trial that ended as planned, and where its records are."""

    folder: Path
    document: TrialDocument


class Trials:
    """The trials of a run that plans them itself."""

    def __init__(
        self, session: Session, spec: Spec, before: Callable[[], None] = lambda: None
    ) -> None:
        """`before` is called before each trial that is measured, not of one that is there."""
        self._session = session
        self._before = before
        self._spec = spec
        self._whole: dict[Key, list[Kept]] = {}
        # Every folder has a number of its own, those of failed trials too.
        self._next_index = 0
        for trial in session.run_directory.trials():
            self._note(Kept(trial.path, trial.meta))

    def take(self, device: DeviceSpec, load: TrafficSpec, nth: int) -> Kept:
        """Give the nth whole trial, from 0, of a load of one frame size, one rate and a length.

        TrialError: it is not there, and no attempt to measure it was whole.
        """
        (trial,) = self._plan(device, load, repetition=1).trials
        key = Key(device.name, load.name, str(trial.frame), trial.rate, trial.duration_ns)
        attempts = 0
        while len(kept := self._whole.get(key, [])) <= nth:
            found = self._measure(self._plan(device, load, self._n_alike(key) + 1))
            attempts += 1
            if not found.document.is_whole and attempts > self._spec.search.repeats:
                failure = found.document.failure or Failure()
                raise TrialError(f"{found.folder.name}: {failure.reason}", failure.log_tail)
        return kept[nth]

    def _n_alike(self, key: Key) -> int:
        """Count trials that differ in nothing but their lengths: results pool them."""
        return sum(len(kept) for at, kept in self._whole.items() if at[:-1] == key[:-1])

    def _plan(self, device: DeviceSpec, load: TrafficSpec, repetition: int) -> Plan:
        alone = {"repetitions": repetition, "floor": False, "devices": ("*",)}
        spec = self._spec.model_copy(
            update={"device": (device,), "traffic": (load.model_copy(update=alone),)}
        )
        return make_plan(
            spec, first_index=self._next_index, repetitions=range(repetition, repetition + 1)
        )

    def _measure(self, plan: Plan) -> Kept:
        self._before()
        self._session.run(plan)
        folder = self._session.run_directory.trials_path / plan.trials[0].name
        found = Kept(folder, read_document(TrialDocument, folder / TRIAL_FILE))
        self._note(found)
        return found

    def _note(self, trial: Kept) -> None:
        document = trial.document
        self._next_index = max(self._next_index, (document.index or 0) + 1)
        if document.is_whole:
            key = Key(
                device=document.dut.name or "",
                traffic=document.traffic.name or "",
                frame=document.traffic.frame or "",
                rate=document.traffic.rate or "",
                duration_ns=document.traffic.duration_ns or 0,
            )
            self._whole.setdefault(key, []).append(trial)
