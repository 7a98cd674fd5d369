"""A plan carried out into a run directory: whole trials or none, resumable, interruptible.

`measuring` holds what a run needs (cores, memory, the host's state) and gives a Session that runs
trials, all of a plan or a part at a time; `run_plan` is the session of one plan.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from taut.core.errors import InputError, TautError, TrialError
from taut.core.files import TEMPORARY_PREFIX
from taut.core.held import held_alone
from taut.core.timings import stage
from taut.experiment import leftovers
from taut.experiment.beside import ALONE, Beside
from taut.experiment.cores import Cores, assign_cores, read_topology
from taut.experiment.model import Spec
from taut.experiment.neighbour_cores import notes_of, working
from taut.experiment.plan import Plan, Trial, unloaded, untraced
from taut.experiment.progress import Progress, Silent
from taut.experiment.quick_figures import read_quick_figures
from taut.experiment.run_manifest import (
    NO_ORIGIN,
    Origin,
    describe_run,
    files_of,
    hash_inputs,
    waiting_of,
)
from taut.experiment.spec import spec_hash
from taut.experiment.stored import Measure, TrialSoFar, remove_unfinished, run_one
from taut.experiment.trial import Testbench
from taut.host.apart import refuse_partition
from taut.host.apply import Outcome
from taut.host.audit import find_situation
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.state import HostStates, describe_applied, refuse_applied, why_nothing
from taut.host.writer import Writer
from taut.records.documents.trial import CHANGES_NOTHING
from taut.records.manifest import write_manifest
from taut.records.rundir import RunDirectory
from taut.testbed.core_locks import busy_cores, measuring_on, refuse_others
from taut.testbed.links.pci import nodes_of_cards
from taut.testbed.scope import RunScope


def run_plan(
    plan: Plan,
    out: Path,
    resume: bool | None,
    progress: Progress | None,
    origin: Origin,
    *,
    wait: bool,
) -> RunDirectory:
    """Run every trial that is missing in `out`; after InterruptedRun, `out` has whole trials only.

    `resume`: see open_run. `wait`: wait for another measurement on the same cores instead of
    raising InputError.
    """
    with measuring(plan, out, resume, progress, origin, wait=wait) as session:
        session.run(plan)
    return RunDirectory(out)


def some_failed(n_failed: int, out: Path) -> TautError:
    """Give the error of a run some of whose trials failed."""
    return TautError(f"{n_failed} trials failed; their trial.json and logs in {out}/trials say why")


@dataclass
class Session:
    """A run that is under way: what it measures on, and where its trials go."""

    run_directory: RunDirectory
    scope: RunScope
    cores: Cores
    states: HostStates
    progress: Progress
    measure: Measure

    def run(self, plan: Plan) -> None:
        """Run what has no whole trial yet, in order; a failed one does not stop the rest.

        A run whose course depends on what it measures (taut trim) calls this once for each part.
        """
        run = self.run_directory
        done = {trial.name for trial in plan.trials if run.has_whole(trial.name)}
        self._note_order(plan)
        self.progress.started(plan, sum(trial.name in done for trial in plan.trials))
        for trial in plan.trials:
            if trial.name in done:
                continue
            self.progress.trial_started(trial)
            with stage("trials"):
                document = run_one(trial, run, self.cores, self._measure_in_state, self.scope)
                folder = run.trials_path / trial.name
                figures = read_quick_figures(folder, document) if document.is_whole else None
            self.progress.trial_finished(trial, document, figures)

    def _measure_in_state(self, trial: Trial, folder: Path, known: TrialSoFar) -> None:
        """Bring the host into the trial's state and say what was verified before and after."""
        entered = self.states.enter(trial.host)
        before = self.states.read_in_force()
        host = replace(
            known.document.host,
            remedies=tuple(dict.fromkeys(result.wish.remedy for result in entered.results)),
            refused=len(entered.of(Outcome.UNMOVABLE, Outcome.GONE)),
            before=before,
        )
        known.document = replace(known.document, host=host)
        if before.lost:
            raise TrialError(
                f"host {trial.host.name!r}: not in force any more: {', '.join(before.lost[:3])}; "
                "somebody else changes this host"
            )
        self.measure(trial, folder, known)
        known.document = replace(
            known.document, host=replace(host, after=self.states.read_in_force())
        )

    def _note_order(self, plan: Plan) -> None:
        """Add the trials of a later part to the manifest."""
        # One that was interrupted is planned once more by a resumed run.
        known = self.ordered
        new = [trial.name for trial in plan.trials if trial.name not in known]
        if new:
            manifest = replace(self.run_directory.manifest(), order=(*known, *new))
            write_manifest(self.run_directory.path, manifest)

    @property
    def ordered(self) -> tuple[str, ...]:
        """Names of all trials planned so far, in order, as the manifest has them."""
        return self.run_directory.manifest().order or ()


@contextmanager
def measuring(
    plan: Plan,
    out: Path,
    resume: bool | None = None,
    progress: Progress | None = None,
    origin: Origin = NO_ORIGIN,
    *,
    wait: bool = False,
    in_parts: bool = False,
    in_states: bool = False,
    beside: Beside = ALONE,
) -> Iterator[Session]:
    """Take what a run needs, and give all of it back, the host's state first, however it ends.

    InputError where another one measures into `out` or holds the cores (unless told to wait), or
    where the experiment changes the host and another run is alive, or an apply made by hand in
    force. `in_parts`: the session plans its trials itself, a part at a time; of `plan` only its
    devices and loads count. `in_states`: over states of the host that `plan` does not name.
    """
    progress, host = progress or Silent(), Host()
    run = open_run(plan, out, resume, origin)
    not_undone: list[str] = []
    with (
        measuring_into(run.path),
        _remove_refused_run(run),
        cores_held(host, plan.spec, wait=wait, waiting=progress.warned) as cores,
        RunScope(warn=progress.warned) as scope,
    ):
        changes_host = plan.spec.changes_host or in_states
        with stage("leftovers"):
            leftovers.clean(scope.base, host, None if changes_host else not_undone.append)
            remove_unfinished(run)
        refuse_partition(host)
        if changes_host:
            _refuse_beside_others(host)
        holder = leftovers.holder_of(scope.id)
        situation = partial(situation_of, host, cores, plan.spec)
        states = HostStates(host, Writer(host), situation, holder, progress.warned)
        with states, pinned_to(cores.runner):
            bench = Testbench(plan, scope, cores, progress.ticked, progress.warned, beside)
            with stage("clock"):
                bench.check_clock()
            warnings = [*cores.notes, *unloaded(plan.spec), *scope.others(), *not_undone]
            warnings += [*leftovers.changed_by_others(host), *([] if in_parts else untraced(plan))]
            with stage("can it trace"):
                cannot_trace = bench.check_tracing()
            if cannot_trace is not None:
                warnings.append(f"not traced, late packets will have no cause: {cannot_trace}")
            with stage("hugepages"):
                bench.add_hugepages()
            ordered = [] if in_parts else [trial.name for trial in plan.trials]
            with stage("manifest and audit"):
                warnings += states_without_effect(plan, host, situation)
                warnings += describe_run(run, plan, origin, host, cores, warnings, ordered)
            progress.noted(f"Cores: {cores.why}.")
            if (applied := describe_applied(host)) is not None:
                progress.noted(f"Host: {applied.n_in_force} changes of `taut host apply` in force.")
            for warning in warnings:
                progress.warned(warning)
            yield Session(run, scope, cores, states, progress, bench.measure)


def _refuse_beside_others(host: Host) -> None:
    """InputError: what others have changed, or measure, and this run is to change the host."""
    refuse_applied(host)
    refuse_others(host.online_cores())


def states_without_effect(plan: Plan, host: Host, situation: Callable[[], Situation]) -> list[str]:
    """Say of each state that is no other than the host as found why it is not."""
    states = [one.state for one in plan.spec.host if not one.is_as_found]
    said = ((state.name, why_nothing(host, situation(), state)) for state in states)
    return [f"host {name!r} {CHANGES_NOTHING}: {why}" for name, why in said if why is not None]


@contextmanager
def cores_held(
    host: Host, spec: Spec, *, wait: bool, waiting: Callable[[str], None]
) -> Iterator[Cores]:
    """Choose the cores of a run and keep other measurements off them.

    Anew after a wait: of what was chosen while others had the cores, theirs came last, and the host
    may have been changed since. `waiting` is called with the words for whom.
    """
    while True:
        cores = choose_cores(host, spec)
        beside = {core for one in working(spec.neighbour, cores) for core in one.cores}
        loaded = {*cores.measured, *beside}
        with measuring_on(loaded, wait=wait, waiting=waiting) as had_to_wait:
            if not had_to_wait:
                yield cores
                return


@contextmanager
def measuring_into(folder: Path) -> Iterator[None]:
    """Keep others from measuring into a run: each would remove or replace what the other writes."""
    with held_alone(folder) as is_ours:
        if not is_ours:
            raise InputError(
                f"{folder}: another taut measures into it; wait for its end, or give another --out"
            )
        yield


@contextmanager
def _remove_refused_run(run: RunDirectory) -> Iterator[None]:
    """Remove the folders of a run that was refused before it wrote anything."""
    try:
        yield
    except InputError:
        with suppress(OSError):  # Not empty: there is something in it.
            run.trials_path.rmdir()
            run.path.rmdir()
        raise


def choose_cores(host: Host, spec: Spec) -> Cores:
    """Say which core would do what in an experiment that began now (see `assign_cores`)."""
    topology = read_topology(host)
    is_over_cards = any(device.link == "pci" for device in spec.device)
    cards = nodes_of_cards(spec.links.get("pci", {})) if is_over_cards else {}
    topology = replace(topology, busy=frozenset(busy_cores(topology.usable)), cards=cards)
    n_hops = max(device.driver_options.n_cores for device in spec.device)
    cores = assign_cores(spec.cores, topology, n_hops)
    return replace(cores, notes=(*cores.notes, *notes_of(spec.neighbour, cores)))


def situation_of(host: Host, cores: Cores, spec: Spec) -> Situation:
    """What the host is judged for: the measured cores, and the devices that run there."""
    return find_situation(host, cores=cores.to_quiet, waiting=waiting_of(spec))


def open_run(
    plan: Plan, out: Path, resume: bool | None, origin: Origin = NO_ORIGIN
) -> RunDirectory:
    """Make the run directory, or take the one to resume; never mix two experiments in one.

    Nor what two commands measure of one: a soak's trials are no run's.

    `resume`: None where the command completes no run, and so must not advise it.
    """
    run = RunDirectory(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: not a folder; give another --out")
    if _holds_a_run(run):
        if not resume:
            other = "leave it out" if resume is None else "complete it: --resume"
            raise InputError(f"{out}: not empty; give another --out, or {other}")
        if run.manifest().spec.hash != spec_hash(plan.spec):
            raise InputError(
                f"{out}: holds another experiment than this one{_began_as(run)}; resume with the "
                "same, or give another --out"
            )
        began, now = map(_command_of, (run.manifest().taut.command_line, origin.command_line))
        if None not in (began, now) and began != now:
            raise InputError(
                f"{out}: begun by `taut {began}`, not by `taut {now}`; resume it by that, or give "
                "another --out"
            )
        _refuse_changed_inputs(run, plan)
    try:
        run.trials_path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written: {error.strerror}; give another --out"
        ) from None
    return run


def _began_as(run: RunDirectory) -> str:
    """Say by which command a run was begun; nothing where a program began it."""
    words = run.manifest().taut.command_line[1:]
    return f": it began as `taut {shlex.join(words)}`" if words else ""


def _command_of(line: Sequence[str]) -> str | None:
    """Give the command of taut that a command line calls; None: it is another program's."""
    if len(line) < 2:
        return None
    program = Path(line[0]).parts
    # As the Debian package calls it, by `-m`.
    is_taut = program[-1:] == ("taut",) or program[-3:] == ("taut", "cli", "main.py")
    return line[1] if is_taut else None


def _refuse_changed_inputs(run: RunDirectory, plan: Plan) -> None:
    """InputError: a file that devices are told is another than when the run began."""
    now, began = hash_inputs(plan.spec), run.manifest().inputs or {}
    for name in map(str, files_of(plan.spec)):
        if name in began and now.get(name) != began[name]:
            raise InputError(
                f"{name}: has changed since {run.path} began; resume with what it was, or give "
                "another --out"
            )


def _holds_a_run(run: RunDirectory) -> bool:
    """Whether a run would be overwritten; one killed before its manifest was whole left none."""
    if not run.path.is_dir():
        return False
    trials = run.trials_path
    whole = (p for p in run.path.iterdir() if not p.name.startswith(TEMPORARY_PREFIX))
    return any(p != trials for p in whole) or (trials.is_dir() and any(trials.iterdir()))


@contextmanager
def pinned_to(core: int) -> Iterator[None]:
    """Keep taut itself on one core while it measures."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
