"""Benches of a trim that measure nothing: what they find is made up."""

from collections.abc import Sequence

from check_rows import BY_ID
from host_tree import POLL, SLEEP
from taut.host.audit import Row
from taut.host.check import Profile, Remedy, failed
from taut.host.plan import Choice, Plan, PlannedChange, Step
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.host.state import HostState
from taut.trim.bench import Repetition
from taut.trim.candidates import CauseFound


class IdleBench:
    """Finds nothing to try, and is never asked to measure."""

    figure = "made figure"
    unusable = "in one state nothing was made"

    def scout(self) -> Sequence[CauseFound]:
        return ()

    def plan(self, state: HostState) -> Plan:
        return Plan(SLEEP, Profile.RECOMMENDED, ())

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        raise NotImplementedError

    def seconds(self, n_states: int) -> float:
        return 0.0


class Tenth(IdleBench):
    """A bench on which one remedy can be tried, and makes the figure a tenth."""

    def plan(self, state: HostState) -> Plan:
        return PLAN

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        figures = {s.name: {"cell": 10.0 if s.is_as_found else 1.0} for s in states}
        return [Repetition(number, figures) for number in repetitions]

    def seconds(self, n_states: int) -> float:
        return 1.0


def _plan() -> Plan:
    change = Change(FileSetting("/proc/a", "number"), "1")
    planned = PlannedChange(change, old="0", is_in_force=False)
    row = Row(BY_ID["R24"], failed("bad", "good"))
    step = Step(row, Remedy("R24-now", "do it"), Choice.TAKE, "why", (planned,))
    return Plan(POLL, Profile.RECOMMENDED, (step,))


PLAN = _plan()
"""A plan of one remedy, R24-now."""
