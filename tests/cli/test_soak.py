"""`taut soak` as it is typed: what it refuses before it measures, and how it ends without a row."""

import errno
import os
import shlex
import signal
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from made_soak import row, segment
from taut.cli import soak_job
from taut.cli.main import run_command
from taut.cli.soak import EXAMPLES
from taut.cli.soak_job import (
    Wishes,
    _check_hook,
    _end,
    _is_refusal,
    _stopping,
    _Telling,
    takes_words,
)
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.experiment.interrupt import interruptible
from taut.experiment.plan import make_plan
from taut.experiment.rows import Rows
from taut.experiment.soak import LIMITS_NS, plan_soak
from taut.experiment.spec import parse_spec
from taut.records.live import Fresh
from taut.records.segments import NONE, Kept, Latencies, SegmentWriter

DAY_NS = 86_400_000_000_000


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A soak of which one row was measured, without a requirement."""
    start = segment([]).start
    writer = SegmentWriter(tmp_path / "run" / "soak" / start.trial, start)
    seen = Fresh(np.array([5]), np.array([1_000], np.uint64))
    none = Fresh(np.empty(0, np.int64), np.empty(0, np.uint64))
    writer.add(row(above={str(ns): 0 for ns in LIMITS_NS}), seen, none)
    writer.close()
    return tmp_path / "run"


@pytest.mark.parametrize("option", ["--require", "--clean"])
def test_a_limit_that_the_rows_so_far_do_not_count_is_refused_before_a_soak_goes_on(
    option: str, spec: Path, begun: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["soak", str(spec), "--out", str(begun), "--resume", option, "max < 5ms"]

    assert run_command(words) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"taut: {begun}: its rows do not count packets above 5 ms; resume with")


def test_a_rule_of_the_file_that_rows_cannot_say_may_be_left_out(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text(spec.read_text() + '[require]\nprofile = "cps"\n')
    words = ["soak", str(spec), "--out", str(tmp_path / "new"), "--dry-run"]

    assert run_command(words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("taut: soak: outage(1ms) <= 1ms: rows count packets that are lost or")
    assert "(of a file: --set 'require=[]')" in line
    assert run_command([*words, "--set", "require=[]", "--clean", "outage(1ms) < 1s"]) == 2
    assert "soak: outage(1ms) < 1s: rows count" in capsys.readouterr().err


def test_a_hook_that_is_not_there_is_refused_before_anything_is_measured(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_job, "require", lambda _: pytest.fail("it goes on"))

    assert run_command(["soak", str(spec), "--on-fail", "./alrt.sh -v"]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert line == "taut: --on-fail ./alrt.sh -v: ./alrt.sh: no such program, or not executable"


@pytest.mark.parametrize("command", ["", " ", "./alert", "./notes", "./folder", "no-such-program"])
def test_a_hook_that_cannot_be_called_is_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").touch(0o644)
    (tmp_path / "folder").mkdir()

    with pytest.raises(InputError, match="--on-fail"):
        _check_hook(command)


@pytest.mark.parametrize(
    "command",
    [
        None,
        "./alert.sh",
        "./alert.sh --to me",
        "cd / && no-such-program",
        "if true; then no-such-program; fi",
        "f () { no-such-program; }; f",
        "f() { no-such-program; }; f",
        "{ no-such-program; }",
        "(no-such-program)",
        "! no-such-program",
        "PATH=/opt:$PATH no-such-program",
        "$HOME/no-such-program",
        "'./my alert.sh'",
        "no-such-program;",
    ],
)
def test_a_hook_that_the_shell_may_understand_is_left_to_it(
    command: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alert.sh").touch(0o755)

    _check_hook(command)


def test_the_hook_of_the_examples_is_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [typed] = [shlex.split(example) for example in EXAMPLES if "--on-fail" in example]

    _check_hook(typed[typed.index("--on-fail") + 1])


def test_the_lines_of_a_resumed_soak_go_on_where_its_table_does() -> None:
    said: list[str] = []
    progress: Any = SimpleNamespace(noted=said.append, warned=pytest.fail)
    soak: Any = SimpleNamespace(has_control=False)
    wishes = Wishes(None, None, images=False, details=False, as_json=False)
    nothing = NONE.astype(np.float64)
    none = Latencies(nothing, NONE.astype(np.uint64), nothing)
    before = [
        Kept(segment([row(0), row(1), row(2)], "000-floor-r1", "floor"), none, none),
        Kept(segment([row(0), row(1)], "001-eager-r2"), none, none),
    ]

    telling = _Telling(soak, progress, wishes, before)
    for trial, number in (("002-eager-r3", 0), ("002-eager-r3", 1), ("003-eager-r4", 0)):
        telling.told(segment([], trial).start, row(number))

    assert [line.split()[0] for line in said] == ["0:10:00", "0:15:00", "0:20:00"]
    assert telling.has_row


def test_a_textfile_replaces_no_device(tmp_path: Path) -> None:
    progress: Any = SimpleNamespace()
    soak: Any = SimpleNamespace()
    (tmp_path / "link").symlink_to("/dev/null")
    wishes = Wishes(tmp_path / "link", None, images=False, details=False, as_json=False)

    with pytest.raises(InputError, match=r"--prometheus .*/link: a device or a pipe"):
        _Telling(soak, progress, wishes, [])


def test_a_soak_says_that_the_trace_it_was_asked_for_cannot_be(spec: Path, tmp_path: Path) -> None:
    plan = make_plan(parse_spec(spec.read_text(), ["trace=tail", "record=none"]))

    *_, said = takes_words(plan_soak(plan, DAY_NS), tmp_path)

    assert said.startswith("warning: traffic constant at 10kpps: not traced, late packets will")


def test_a_full_disk_is_a_failed_soak_once_there_are_rows() -> None:
    nothing = NONE.astype(np.float64)
    none = Latencies(nothing, NONE.astype(np.uint64), nothing)
    before = [Kept(segment([row(0)]), none, none)]
    full = OSError(errno.ENOSPC, "No space left on device")

    assert _is_refusal(full, [])
    assert not _is_refusal(full, before)
    assert _is_refusal(InputError("another experiment"), before)
    assert not _is_refusal(TautError("the device died"), [])


def test_a_failure_before_the_first_row_is_told_to_the_hook_with_its_reason(tmp_path: Path) -> None:
    told = tmp_path / "told"
    wishes = Wishes(None, f"echo >{told}", images=False, details=False, as_json=False)

    with pytest.raises(TautError, match="early: no link; the device has no row yet") as failed:
        _end(tmp_path, None, "no link", wishes, is_interrupted=False)

    assert failed.value.exit_status == 1
    assert told.read_text() == "no link\n"


def test_ctrl_c_before_the_first_row_is_told_to_nobody(tmp_path: Path) -> None:
    told = tmp_path / "told"
    wishes = Wishes(None, f"echo >{told}", images=False, details=False, as_json=False)

    with pytest.raises(InterruptedRun, match="go on: --out"):
        _end(tmp_path, None, "interrupted", wishes, is_interrupted=True)

    assert not told.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_ends_the_generator_and_what_it_measured_counts(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def theirs(*_: object) -> None:
        """Stand for whatever was there, as the tests themselves may be under nohup."""

    monkeypatch.setattr(Rows, "is_measuring", True)
    rows = Rows(tmp_path, 1, (), lambda *_: None)
    inherited = signal.signal(number, theirs)
    try:
        with interruptible(), _stopping(rows):
            os.kill(os.getpid(), number)
            assert rows.stopped == "interrupted"
            # A closed terminal is told twice.
            is_once = number == signal.SIGHUP
            with nullcontext() if is_once else pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
    finally:
        signal.signal(number, inherited)
