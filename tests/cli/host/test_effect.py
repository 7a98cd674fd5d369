"""`taut host effect`: options, what is refused before anything is measured, and the words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from taut.cli.host import effect_job as module
from taut.cli.host.effect_words import _points, print_effect
from taut.cli.main import run_command
from taut.core.errors import InputError
from taut.experiment.cores import Cores
from taut.host.knob import Knob, KnobSet
from taut.host.state import HostState
from taut.records.rundir import AS_FOUND
from taut.trim.effect import Measured, judge
from taut.trim.effect_document import as_document
from terminal import Terminal

ALL = ("p50", "p99", "p99.9", "p99.99")


@pytest.fixture(autouse=True)
def never_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing here may change the host, or leave a folder."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("something was about to be measured")

    monkeypatch.setattr(module, "measuring", refused)
    monkeypatch.setattr(module.leftovers, "clean", lambda *_: [])
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["R24", "--repetitions", "3"], "8 or more"),
        (["R24", "--repetitions", "-1"], "8 or more"),
        (["R24", "--repetitions", "100001"], "--repetitions 100001: 100000 at most"),
        (["R24", "R06", "K04", "--repetitions", "8"], "of 15 figures that hold together; 10"),
        (["R24", "--duration", "5"], "duration"),
        (["R24", "--duration", "100us"], "too few for any percentile"),
        (["R24", "--cores", ""], "name the device's core"),
        (["R24", "--cores", "0,1,2"], "name the device's core"),
        (["R24", "--device", ""], "unknown driver ''"),
        (["R24", "--device", "nothing"], "unknown driver 'nothing'"),
        (["R24", "--device", "command"], "argv: missing"),
        (["R24", "--device", "loopback"], "no device but the loopback"),
        (["R24", "--spec", "nowhere.toml"], "no such file"),
        (["R24", "--set", "nonsense"], "key=value"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert run_command(["host", "effect", *arguments]) == 2

    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_states_of_the_host_in_the_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'name = "e"\nduration = "1s"\n[[device]]\ndriver = "taut_forward"\n[[traffic]]\n'
        'rates = ["10kpps"]\n[[host]]\nname = "trimmed"\nprofile = "recommended"\n'
    )

    assert run_command(["host", "effect", "R24", "--spec", str(file)]) == 2
    assert "take it out of the file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            '[[neighbour]]\nkind = "idle"\n[[neighbour]]\nkind = "cache"\n',
            "[[neighbour]]: effect measures beside one neighbour at most",
        ),
        (
            '[[placement]]\nname = "bare"\n[[placement]]\nname = "container"\n',
            "[[placement]]: effect measures a device in one place, taut_forward has bare, con",
        ),
    ],
)
def test_neighbours_and_places_that_would_be_mixed_are_refused(
    tables: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'name = "e"\nduration = "2s"\n[[device]]\ndriver = "taut_forward"\n[[traffic]]\n'
        f'rates = ["100kpps"]\n{tables}'
    )

    assert run_command(["host", "effect", "R24", "--spec", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_a_device_without_a_load_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.toml"
    device = '[[device]]\ndriver = "taut_forward"\n'
    file.write_text(
        f'name = "e"\nduration = "1s"\n{device}name = "eager"\n{device}name = "buffered"\n'
        '[[traffic]]\nrates = ["10kpps"]\ndevices = ["eager"]\n'
    )

    assert run_command(["host", "effect", "R24", "--spec", str(file), "--device", "buffered"]) == 2
    assert "--device buffered: no [[traffic]] of the experiment" in capsys.readouterr().err


@pytest.mark.parametrize("own", ['duration = "2s"', "count = 200_000"])
def test_a_length_that_is_given_is_that_of_every_load(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'name = "e"\n[[device]]\ndriver = "taut_forward"\n'
        f'[[traffic]]\nrates = ["100kpps"]\n{own}\n'
    )

    words = ["host", "effect", "R24", "--spec", str(file), "--duration", "100us"]
    assert run_command(words) == 2

    assert "effect: a trial has 10 packets, too few for any percentile" in capsys.readouterr().err


def test_without_root_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)

    assert run_command(["host", "effect", "R24"]) == 2
    assert "run as root; nothing was changed" in capsys.readouterr().err


def test_sets_are_found_for_the_cores_that_are_free_after_a_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []

    @contextmanager
    def held(*_: object, wait: bool, **__: object) -> Iterator[Cores]:
        order.append(f"held, wait: {wait}")
        yield Cores(generator=0, device=5, writer=1, runner=1)

    def found(words: object, host: object, cores: Cores, checks: object) -> None:
        order.append(f"found for core {cores.device}")
        raise InputError("that is enough")

    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "require", lambda _: order.append("nothing is missing"))
    monkeypatch.setattr(module, "cores_held", held)
    monkeypatch.setattr(module.leftovers, "clean", lambda *_: order.append("cleaned") or [])
    monkeypatch.setattr(module, "describe_applied", lambda _: None)
    monkeypatch.setattr(module, "situation_of", lambda _, cores, __: cores)
    monkeypatch.setattr(module, "find_sets", found)

    assert run_command(["host", "effect", "R24", "--wait"]) == 2

    assert "that is enough" in capsys.readouterr().err
    assert order == [
        "nothing is missing",
        "cleaned",
        "held, wait: True",
        "cleaned",
        "found for core 5",
    ]


@pytest.mark.root
@pytest.mark.parametrize(("word", "said"), [("R99", "no check's"), ("SCHED_FIFO", "chrt -f N")])
def test_an_unknown_knob_is_one_line(
    word: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "require", lambda _: None)

    assert run_command(["host", "effect", word]) == 2

    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_the_sentence_comes_first_and_all_fits_a_terminal(terminal: Terminal) -> None:
    names = ("R24,K04", "/proc/sys/x")
    measured = [
        Measured(
            state,
            repetition,
            "eager, 100 kpkt/s, 64 B",
            dict.fromkeys(ALL, round(ns * (1 + repetition / 100))),
            0.0512,
            200_000,
            1_234_567,
            void_share=0.1,
        )
        for repetition in range(1, 12)
        for state, ns in ((AS_FOUND, 4_290_000), (names[0], 301_000), (names[1], 99_900_000))
    ]
    sets = [
        KnobSet(HostState(name, only=("R24",)), (Knob("R24", "a " * 60, why="b " * 60),), ())
        for name in names
    ]
    document = as_document(
        judge(measured, names, ALL),
        sets,
        measured,
        percentiles=ALL,
        n_claims=10,
        repetitions=11,
        duration_ns=2 * 10**9,
        cores=(1,),
    )

    def shown() -> None:
        print_effect(document, Console(), Path("runs/effect/report.html"))

    lines = terminal.printed(shown, 80).splitlines()
    assert lines[0].startswith("R24,K04: p99.9 14 times shorter (95 % interval 14 to 14; 11 pairs")
    assert lines[-1] == "Report: runs/effect/report.html"
    terminal.assert_fits(shown)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.00004, "0.004"), (-0.00002, "-0.002"), (0.05, "5"), (0.12346, "12.3"), (-1e-19, "0")],
)
def test_shares_and_their_differences_have_digits_enough(share: float, words: str) -> None:
    assert _points(share) == words
