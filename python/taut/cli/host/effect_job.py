"""What `taut host effect` does with sets of knobs, after its options are read."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from rich.console import Console

from taut.cli.host.effect_words import print_effect
from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.core.cpus import CpuSet
from taut.core.errors import InputError, InterruptedRun
from taut.core.files import default_out, write_json
from taut.core.words import did_you_mean
from taut.dut.drivers import DRIVERS
from taut.experiment import leftovers
from taut.experiment.interrupt import interruptible
from taut.experiment.model import Spec
from taut.experiment.neighbour_spec import refuse_in_turn
from taut.experiment.placed import refuse_places_in_turn
from taut.experiment.plan import Plan, make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import cores_held, measuring, situation_of
from taut.experiment.spec import parse_spec, read_spec_text
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.knob import KnobSet, find_sets
from taut.host.state import FOUND, describe_applied, refuse_applied
from taut.records.documents.effect import EFFECT_FILE, EffectDocument
from taut.records.documents.json_form import plain
from taut.records.documents.results import Analysis
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note
from taut.testbed.scope import default_base
from taut.trim.effect import check_repetitions, judge, n_claims_of
from taut.trim.effect_document import as_document
from taut.trim.effect_run import percentiles_of, read_trials, try_sets
from taut.trim.packets import repeated

_SOURCE = "taut host effect"
_DEFAULT = """\
name = "effect"
duration = "2s"
warm_up = "500ms"
deadline = "500ms"

[[device]]
driver = {driver}

[[traffic]]
rates = ["100kpps"]
"""


def measure_effect(
    knobs: Sequence[str],
    spec: Path | None,
    device: str | None,
    changed: Sequence[str],
    *,
    duration: str | None,
    repetitions: int,
    wait: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Measure every set off and on; leave a run directory, print the result.

    `changed` are values of the experiment, as --set has them. InputError: nothing was changed.
    """
    text, source = _experiment(spec, device)
    if duration is not None:
        changed = [*changed, f"duration={duration}"]
    parsed = parse_spec(text, changed, source=source)
    if duration is not None:
        parsed = _of_one_length(parsed)
    if parsed.host:
        raise InputError("[[host]]: effect names the states of the host; take it out of the file")
    parsed = _of_device(parsed, device if spec is not None else None)
    refuse_in_turn(parsed.neighbour, "effect")
    refuse_places_in_turn(parsed.placement, parsed.device, "effect")
    percentiles = percentiles_of(parsed)
    n_claims = n_claims_of(len(knobs), percentiles)
    check_repetitions(repetitions, n_claims)
    parsed = repeated(parsed, repetitions)
    sets = _sets(knobs, parsed, wait=wait)
    plan = make_plan(parsed, states=[FOUND, *(one.state for one in sets)])
    require(plan)
    directory = out or default_out("effect")
    origin = Origin(text, source, tuple(changed), tuple(sys.argv))
    quiet = _measure(plan, sets, directory, origin, wait=wait)
    job = _Report(sets, percentiles, n_claims, plan, quiet, as_json=as_json)
    n_failed = finish(RunDirectory(directory), as_json=as_json, publish=job.publish, show=job.show)
    if n_failed:
        print_note(
            Console(stderr=True),
            f"{n_failed} trials failed; their trial.json and logs in {directory}/trials say why",
        )


def _measure(
    plan: Plan, sets: Sequence[KnobSet], directory: Path, origin: Origin, *, wait: bool
) -> CpuSet:
    """Run all trials and leave the host as found; give the cores that the sets were applied to."""
    with interruptible():
        try:
            with (
                closing(TerminalProgress()) as progress,
                measuring(
                    plan,
                    directory,
                    None,
                    progress,
                    origin,
                    wait=wait,
                    in_parts=True,
                    in_states=True,
                ) as session,
            ):
                try_sets(session.states, sets)
                session.run(plan)
                return session.cores.to_quiet
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted: the host is as it was; what was measured is in {directory}"
            ) from None


class _Report:
    """Judges the trials once all have run, and writes and prints the result."""

    def __init__(
        self,
        sets: Sequence[KnobSet],
        percentiles: Sequence[str],
        n_claims: int,
        plan: Plan,
        cores: CpuSet,
        *,
        as_json: bool,
    ) -> None:
        self._sets, self._percentiles, self._n_claims = sets, percentiles, n_claims
        self._plan, self._cores, self._as_json = plan, cores, as_json
        self._document: EffectDocument | None = None

    def publish(self, run: RunDirectory, analysis: Analysis) -> None:
        """Judge, and write effect.json."""
        trials = read_trials(run, analysis.trials)
        names = [one.state.name for one in self._sets]
        lengths = {trial.duration_ns for trial in self._plan.trials}
        self._document = as_document(
            judge(trials, names, self._percentiles),
            self._sets,
            trials,
            percentiles=self._percentiles,
            n_claims=self._n_claims,
            repetitions=self._plan.spec.repetitions,
            duration_ns=lengths.pop() if len(lengths) == 1 else None,
            cores=self._cores,
        )
        write_json(run.path / EFFECT_FILE, plain(self._document))

    def show(self, report: Path) -> None:
        """Print the document, or the words."""
        assert self._document is not None, "shown when it was published"
        if self._as_json:
            json.dump(plain(self._document), sys.stdout)
            print()
        else:
            print_effect(self._document, Console(), report)


def _experiment(spec: Path | None, device: str | None) -> tuple[str, str]:
    """Give the experiment's text, and what messages call it."""
    if spec is not None:
        return read_spec_text(spec), str(spec)
    driver = "taut_forward" if device is None else device
    if driver not in DRIVERS:
        raise InputError(
            f"--device: unknown driver {driver!r}{did_you_mean(driver, DRIVERS.names())}"
        )
    name = "" if device else '\nname = "eager"'
    return _DEFAULT.format(driver=f'"{driver}"{name}'), _SOURCE


def _of_one_length(spec: Spec) -> Spec:
    """Leave no load a length of its own, which would count instead of the experiment's."""
    own = {"duration_ns": None, "count": None}
    return spec.model_copy(
        update={"traffic": tuple(one.model_copy(update=own) for one in spec.traffic)}
    )


def _of_device(spec: Spec, name: str | None) -> Spec:
    """Keep one device, and the loads it takes."""
    if name is None:
        return spec
    kept = tuple(device for device in spec.device if device.name == name)
    if not kept:
        hint = did_you_mean(name, [device.name for device in spec.device])
        raise InputError(f"--device {name}: the experiment has no such device{hint}")
    traffic = tuple(traffic for traffic in spec.traffic if traffic.takes(kept[0]))
    if not traffic:
        raise InputError(
            f"--device {name}: no [[traffic]] of the experiment takes it; name it in devices of one"
        )
    return spec.model_copy(update={"device": kept, "traffic": traffic})


def _sets(words: Sequence[str], spec: Spec, *, wait: bool) -> list[KnobSet]:
    """Find the sets for the cores and the device of the run; the host must be as found.

    Others end first: the cores of the run are those that are free then.
    """
    if os.geteuid() != 0:
        raise InputError("effect: changes this host for a while: run as root; nothing was changed")
    require(make_plan(spec))  # What is missing is told before anybody is waited for.
    host = Host()
    tell = partial(print_note, Console(stderr=True))
    # Cores are chosen on the host as found, and while others are waited for one of them may die.
    leftovers.clean(default_base(), host)
    with cores_held(host, spec, wait=wait, waiting=tell) as assigned:
        leftovers.clean(default_base(), host)
        if describe_applied(host) is not None:
            refuse_applied(host)
        if not assigned.to_quiet:
            raise InputError(
                "effect: no core is left that taut itself keeps off: it needs two cores"
            )
        return find_sets(words, host, situation_of(host, assigned, spec), CHECKS)
