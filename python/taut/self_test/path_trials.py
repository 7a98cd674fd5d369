"""The self-test of packet paths: an experiment of its own, two trials a path.

In the first nothing is done, to see which verdicts come without acts. In the second all acts of the
path are made, one kind after the other. Both are explained like any other trial.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from taut.core.errors import TautError
from taut.experiment.model import CoreSpec, Spec
from taut.experiment.plan import Plan, Trial, make_plan
from taut.experiment.runner import Session, measuring
from taut.explain import Options, explain_trial
from taut.explain.read.packets import read_percentile
from taut.host.host import Host
from taut.records import parquet
from taut.records.documents.trial import Failure
from taut.records.rundir import TrialDirectory
from taut.self_test.acts import Acts, inside
from taut.self_test.cause_trials import LEAST_NS
from taut.self_test.confusion import Confusion
from taut.self_test.disturbance import Disturbance, duration_ns
from taut.self_test.late_acts import (
    Control,
    Wanted,
    confuse_packets,
    control_of,
    due_of,
)
from taut.self_test.paths import PacketPath, PathAct, acts_on
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope

CONTROL, ACTS = "control", "acts"
MOST_ACTS = 30
"""Of each kind on each path: the whole test shall end within minutes."""

_CONTROL_NS = 2_000_000_000
_WARM_UP_NS = 500_000_000
_DEADLINE_NS = 500_000_000


@dataclass(frozen=True)
class PathResult:
    """What a self-test found of one packet path."""

    path: PacketPath
    late_ns: int
    """The latency that 99 % of the control's packets do not exceed: more is late."""
    control: Control
    acts: tuple[Confusion, ...]
    failed: Mapping[str, str]
    """Acts that could not be made, and why."""


def missing_on(path: PacketPath, core: int) -> str | None:
    """Say what this machine, or its core, lacks for a path; None: nothing."""
    device, options = path.device, path.device.driver_options
    lacks = LINKS[path.link].missing() or device.dut.missing(options)
    return lacks or options.refuses_cores((core,), Host())


@contextmanager
def path_trials(
    core: int, paths: Sequence[PacketPath], n_acts: int
) -> Iterator[Callable[[PacketPath], PathResult]]:
    """Make ready for trials of all these paths; give what runs one path and judges it."""
    n_acts = min(n_acts, MOST_ACTS)
    plan = plan_of(core, paths, n_acts)
    with RunScope() as scope:
        folder = Path(tempfile.gettempdir()) / f"taut-self-test-{scope.id}"
        scope.make_temp(folder)
        disturbance = Disturbance(folder / "acts", n_acts, lambda trial: _acts_of(trial, paths))
        with measuring(plan, folder / "run", beside=disturbance) as session:
            yield lambda path: _run(path, plan, session, disturbance)


def plan_of(core: int, paths: Sequence[PacketPath], n_acts: int) -> Plan:
    """Lay out the trials: of each path a control, and one with all of its acts."""
    traffic = [
        {"name": name, "devices": [path.name], "rates": [path.rate], "duration": f"{length_ns}ns"}
        for path in paths
        for name, length_ns in (
            (f"{CONTROL}.{path.name}", _CONTROL_NS),
            (f"{ACTS}.{path.name}", duration_ns(acts_on(path), n_acts)),
        )
    ]
    spec = Spec.model_validate(
        {
            "name": "self-test",
            "warm_up": f"{_WARM_UP_NS}ns",
            "deadline": f"{_DEADLINE_NS}ns",
            "record": "all",
            "trace": "continuous",
            "order": "listed",
            "floor": False,
            "cores": CoreSpec(device=core),
            "device": [path.device for path in paths],
            "traffic": traffic,
        }
    )
    return make_plan(spec)


def _acts_of(trial: Trial, paths: Sequence[PacketPath]) -> Sequence[PathAct]:
    if not trial.traffic.name.startswith(ACTS):
        return ()
    return next(acts_on(path) for path in paths if path.name == trial.device.name)


def _run(path: PacketPath, plan: Plan, session: Session, disturbance: Disturbance) -> PathResult:
    """Measure and explain both trials of a path. TautError: one of them failed."""
    trials = tuple(trial for trial in plan.trials if trial.device.name == path.name)
    session.run(replace(plan, trials=trials))
    run = session.run_directory
    found = {
        str(trial.meta.traffic.name).partition(".")[0]: trial
        for trial in run.trials()
        if trial.meta.dut.name == path.name
    }
    for trial in found.values():
        if not trial.is_whole:
            raise TautError((trial.meta.failure or Failure()).reason)
    made = disturbance.made[found[ACTS].name]
    control = explain_trial(found[CONTROL].path, Options(every_gap=True))
    late_ns = _late_ns(found[CONTROL].packets)
    acts = _judge_acts(path, found[ACTS], made.acts, trials[-1].duration_ns, late_ns)
    verdicts = {verdict for act in acts_on(path) for verdict in act.right[path.kind]}
    return PathResult(
        path,
        late_ns,
        control_of(control, verdicts),
        acts,
        made.failed,
    )


def _late_ns(packets: Path) -> int:
    """Give the latency that 99 % of a trial's packets do not exceed; for a trial without acts."""
    valid = read_percentile(packets, "p99", with_void=False)
    return int(valid or read_percentile(packets, "p99", with_void=True) or 0)


def _judge_acts(
    path: PacketPath, trial: TrialDirectory, made: Mapping[str, Acts], length_ns: int, late_ns: int
) -> tuple[Confusion, ...]:
    window_ns = _WARM_UP_NS, _WARM_UP_NS + length_ns
    found = explain_trial(trial.path, Options(over=f"{late_ns}ns", every_gap=True))
    due = due_of(parquet.read_table(trial.packets, columns=["due_ns", "flags"]))
    return tuple(
        confuse_packets(
            Wanted(act.name, act.cause, act.right[path.kind], LEAST_NS),
            inside(made[act.name], window_ns),
            found,
            due,
        )
        for act in acts_on(path)
        if act.name in made
    )
