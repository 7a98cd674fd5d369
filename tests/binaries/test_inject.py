"""The Python side of taut-inject: what it prints becomes values, what it refuses an error."""

import stat
from pathlib import Path

import pytest

from taut.binaries.inject import InjectRequest, inject, parse_injected
from taut.core.errors import InputError, TautError

DOCUMENT = (
    '{"format":1,"version":"0","stop":"duration","cause":"timer","core":1,'
    '"rate_per_s":50.000000,"duration_ns":7,"seed":3,"sent":9,"not_sent":1,'
    '"overdue":2,"late":0,"records":9,"not_logged":0,"threads":{"victim":11,"injector":12},'
    '"victim_pid":11,"polled":true,"felt":8}'
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a script in taut-inject's place."""

    def make(body: str) -> Path:
        path = tmp_path / "taut-inject"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))
        return tmp_path

    return make


def test_what_it_prints_becomes_values(program):
    folder = program(f"echo \"$@\" >{'$0'}.arguments; echo '{DOCUMENT}'")

    injected = inject(InjectRequest("timer:delay=1ms", 1, folder / "out", 50, 7, seed=3, victim=7))

    assert (injected.cause, injected.core) == ("timer", 1)
    assert (injected.sent, injected.not_sent, injected.overdue) == (9, 1, 2)
    assert (injected.records, injected.felt) == (9, 8)
    assert injected.victim_thread == 11
    assert not injected.was_interrupted
    arguments = (folder / "taut-inject.arguments").read_text().split()
    assert arguments[0] == "timer:delay=1ms"
    assert "--victim 7" in " ".join(arguments)
    assert "--rate 50/s" in " ".join(arguments)
    assert "--duration 7ns" in " ".join(arguments)
    assert "--threshold" not in arguments


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (InjectRequest("timer", 2, Path(), 50, 7), "core 2, understood 1"),
        (InjectRequest("timer", 1, Path(), 51, 7), "rate_per_s 51, understood 50.0"),
        (InjectRequest("timer", 1, Path(), 50, 8), "duration_ns 8, understood 7"),
        (InjectRequest("timer", 1, Path(), 50, 7, seed=4), "seed 4, understood 3"),
    ],
)
def test_another_disturbance_than_the_one_asked_for_is_an_error(
    program, asked: InjectRequest, words: str
):
    program(f"echo '{DOCUMENT}'")

    with pytest.raises(TautError, match=f"^taut-inject: asked for {words};"):
        inject(asked)


def test_without_a_poller_nothing_is_known_of_what_was_felt():
    document = {
        "stop": "signal", "cause": "stopped", "core": 0, "sent": 1, "not_sent": 0, "overdue": 0,
        "records": 1, "felt": None, "threads": {"victim": 5, "injector": 6},
    }  # fmt: skip

    injected = parse_injected(document)

    assert injected.felt is None
    assert injected.was_interrupted


def test_what_it_refuses_is_bad_input_in_its_own_words(program):
    folder = program("echo 'taut-inject: --core: core 9 is not online' >&2; exit 2")

    with pytest.raises(InputError, match=r"^inject: --core: core 9 is not online$"):
        inject(InjectRequest("timer", 9, folder / "out", 50, 7))


def test_a_failure_names_the_command(program):
    folder = program("exit 1")

    with pytest.raises(TautError, match=r"exit status 1; run .*taut-inject timer"):
        inject(InjectRequest("timer", 1, folder / "out", 50, 7))
