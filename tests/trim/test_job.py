"""What --keep may call in force."""

from taut.host.apply import Outcome, Result, Wish
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.trim.job import refused_by_machine


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
