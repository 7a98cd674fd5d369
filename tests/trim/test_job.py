"""What a trim tells of its situation, and what --keep may call in force."""

from collections.abc import Sequence

from host_tree import SLEEP
from taut.host.apply import Outcome, Result, Wish
from taut.host.check import Profile
from taut.host.plan import Plan
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.host.state import HostState
from taut.trim.bench import Repetition
from taut.trim.candidates import CauseFound
from taut.trim.job import Job, refused_by_machine
from taut.trim.trim import Request


class IdleBench:
    """Finds nothing to try, and is never asked to measure."""

    figure = "made figure"

    def scout(self) -> Sequence[CauseFound]:
        return ()

    def plan(self, state: HostState) -> Plan:
        return Plan(SLEEP, Profile.RECOMMENDED, ())

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        raise NotImplementedError

    def seconds(self, n_states: int) -> float:
        return 0.0


def test_a_trim_tells_whether_its_device_polled_or_slept() -> None:
    job = Job(Request(), keep=False, yes=True, dry_run=True)

    job.measure(
        IdleBench(), lambda: SLEEP, lambda _: None, scouting="", target="p99", cores=SLEEP.cores
    )

    assert job.plain()["waiting"] == ["sleeps"]


def result(remedy: str, outcome: Outcome) -> Result:
    change = Change(FileSetting(f"/proc/{remedy}", "number"), "1")
    return Result(Wish(remedy, change), "0", "1", outcome)


def test_a_remedy_of_which_some_threads_cannot_be_moved_is_in_force() -> None:
    assert (
        refused_by_machine(
            [
                result("R24-now", Outcome.UNMOVABLE),
                result("R24-now", Outcome.IN_FORCE),
                result("R06-now", Outcome.ALREADY),
            ]
        )
        == []
    )


def test_a_remedy_of_which_nothing_is_in_force_is_named_once() -> None:
    said = refused_by_machine(
        [
            result("R05-now", Outcome.UNMOVABLE),
            result("R05-now", Outcome.UNMOVABLE),
            result("R06-now", Outcome.OTHER_VALUE),
        ]
    )

    assert said == ["R06-now: /proc/R06-now: took another value", "R05-now: unmovable"]
