"""How the self-test goes on until enough was felt, and what it says; nothing is injected here."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from made_confusion import made_confusion
from taut.cli.main import run_command
from taut.core.errors import InputError, InterruptedRun, MissingToolError, TautError
from taut.self_test import cause_trials as self_test
from taut.self_test.cause_report import Result, one_line, print_result
from taut.self_test.confusion import Confusion
from taut.self_test.recording import Place
from taut.testbed.scope import RunScope

FOUND = made_confusion("timer")
SECOND = 1_000_000_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(0, RunScope(tmp_path), tmp_path, None)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rounds that each feel a hundred acts; gives their lengths."""
    lengths: list[int] = []

    def one(_place: Place, name: str, duration_ns: int, _seed: int) -> Confusion:
        lengths.append(duration_ns)
        return replace(FOUND, cause=name)

    monkeypatch.setattr(self_test, "_round", one)
    return lengths


def test_no_place_is_made_where_threads_have_numbers_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(self_test, "cpuset_cores", lambda: (0, 1))
    monkeypatch.setattr(self_test, "has_own_numbers", lambda _: True)
    monkeypatch.setattr(self_test, "measuring_on", lambda _: pytest.fail("it is measured"))

    with (
        pytest.raises(MissingToolError, match=r"cannot trace: threads .*--pid=host"),
        self_test.place_on(0),
    ):
        pass


def test_rounds_go_on_until_enough_acts_were_felt(place: Place, rounds: list[int]) -> None:
    found = self_test.run_cause(place, "timer", 250, 100 * SECOND, lambda _: None)

    assert (len(rounds), found.n_felt, found.notes) == (3, 300, ())
    # Each round is as long as what is missing takes.
    assert rounds[0] > rounds[1] > rounds[2]


def test_a_cause_has_so_much_time_and_no_more(place: Place, rounds: list[int]) -> None:
    found = self_test.run_cause(place, "timer", 10_000, 4 * SECOND, lambda _: None)

    assert sum(rounds) <= 4 * SECOND
    assert "of 10000 acts were felt" in found.notes[-1]


def test_a_cause_of_which_nothing_is_felt_ends(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "_round", lambda *_: replace(FOUND, n_unfelt=110))

    found = self_test.run_cause(place, "timer", 500, 100 * SECOND, lambda _: None)

    assert "only 0 of 500" in found.notes[-1]


def run_all(place: Place, names: tuple[str, ...]) -> Result:
    return self_test.run(place, 100, 10 * SECOND, names, Console(file=io.StringIO()))


@pytest.fixture
def no_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "_control", lambda *_: ({"timer": 60}, 10.0))


@pytest.mark.usefixtures("no_control")
def test_a_cause_that_cannot_be_made_is_not_proved(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(_place: Place, name: str, _ns: int, _seed: int) -> Confusion:
        if name == "throttled":
            raise InputError("throttled: no control group")
        return replace(FOUND, cause=name)

    monkeypatch.setattr(self_test, "_round", one)

    result = run_all(place, ("timer", "throttled"))

    assert [of.cause for of in result.causes] == ["timer"]
    assert result.not_proved["throttled"] == "throttled: no control group"
    assert result.not_proved["stopped"] == "not asked for"
    assert "KVM" in result.not_proved["hypervisor-or-hardware"]
    assert "timer" not in result.not_proved
    # The control had six a second.
    assert result.natural(result.causes[0]) == 12


@pytest.mark.usefixtures("no_control")
@pytest.mark.parametrize("error", [InterruptedRun("interrupted"), TautError("no tracefs")])
def test_ctrl_c_ends_all_and_so_does_a_machine_that_can_make_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, error: TautError
) -> None:
    def one(*_: object) -> Confusion:
        raise error

    monkeypatch.setattr(self_test, "_round", one)

    with pytest.raises(type(error), match=str(error)):
        run_all(place, ("timer",))


@pytest.mark.usefixtures("no_control", "rounds")
def test_what_is_printed_says_each_kind_of_miss_and_whose_the_others_were(place: Place) -> None:
    text = io.StringIO()

    print_result(Console(file=text, width=120), run_all(place, ("timer",)))

    said = text.getvalue()
    assert "timer: 1 missed: the gap held no event at all" in said
    assert "timer: larger beside it: preemption 2" in said
    assert "timer: another's: tick_nohz_handler 18" in said
    for figure in ("97.0 %", "99.0 %", "98.3 %", "83.3 %", "92.6 %"):
        assert figure in said
    assert "by chance, as often as acts take of the time: up to a third" in " ".join(said.split())


def test_one_line_says_how_good_it_was() -> None:
    assert "100 acts felt" in one_line(FOUND)
    assert "recall 97.0 %, found 99.0 %, precision 98.3 %" in one_line(FOUND)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--cause", "gremlins"], "gremlins"), (["--acts", "0"], "--acts 0")],
)
def test_what_it_cannot_do_is_said_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["explain", "--self-test", *arguments]) == 2

    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
