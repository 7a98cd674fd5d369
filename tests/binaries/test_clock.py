import time
from pathlib import Path

import pytest

from taut.binaries.clock import read_both_clocks, read_clock
from taut.core.errors import TautError
from taut.records.documents.json_form import plain


def _program(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "taut-clock"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("TAUT_BIN_DIR", str(folder))


def test_the_cores_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path, 'echo "{\\"usable\\": true, \\"asked\\": \\"$*\\"}"', monkeypatch)

    assert plain(read_clock((0, 1, 2)))["asked"] == "--cores 0-2"


def test_a_clock_that_cannot_be_used_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, """echo '{"usable": false, "why": "no TSC"}'""", monkeypatch)

    assert read_clock().why == "no TSC"


@pytest.mark.parametrize("body", ["true", "echo oops", "echo 1", "echo '{}'; exit 1"])
def test_no_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    _program(tmp_path, body, monkeypatch)

    with pytest.raises(TautError, match="taut-clock: no whole answer"):
        read_clock()


def test_both_clocks_are_of_the_same_moment() -> None:
    before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    first, last = read_both_clocks(), read_both_clocks()

    assert before_ns < first[1] < last[1] < time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    assert first[0] < last[0]
