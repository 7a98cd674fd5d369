"""What a run shows while it works."""

import io
import os
import pty
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from taut.cli.progress import TerminalProgress, TimeLeft, trial_line
from taut.cli.unread import PatientConsole, tell
from taut.core.units import duration_words
from taut.experiment.plan import Plan, make_plan
from taut.experiment.quick_figures import QuickFigures
from taut.experiment.spec import parse_spec
from taut.records.documents.trial import Failure, TrialDocument


def make() -> Plan:
    return make_plan(
        parse_spec(
            'name = "p"\nduration = "10s"\n[[device]]\ndriver = "taut_forward"\n'
            '[[traffic]]\nrates = ["10kpps"]\n'
        )
    )


FIGURES = QuickFigures(p50_ns=900, p99_ns=1_500, loss_ratio=0.0, unsent=0, void_ratio=0.001)


def test_a_whole_trial_is_one_line():
    trial = make().trials[0]

    line = trial_line(trial, TrialDocument(status="whole"), FIGURES)

    assert line == f"{trial.name}: p50 900 ns, p99 1.50 µs, lost 0 %, generator late 0.1 %"


def test_a_trial_that_lost_nearly_all_did_not_lose_all():
    line = trial_line(
        make().trials[0], TrialDocument(status="whole"), replace(FIGURES, loss_ratio=0.9997)
    )

    assert "lost 99.97 %" in line


def test_a_failed_trial_says_why():
    trial = make().trials[0]

    line = trial_line(trial, TrialDocument(status="failed", failure=Failure("it died")), None)

    assert line.endswith("FAILED: it died")


def test_nothing_came_back():
    line = trial_line(
        make().trials[0], TrialDocument(status="whole"), replace(FIGURES, p50_ns=None)
    )

    assert "p50 none" in line


def test_without_a_terminal_lines_are_plain():
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, width=200))
    plan = make()

    progress.started(plan, 0)
    progress.warned("cores are shared")
    for trial in plan.trials:
        progress.trial_started(trial)
        progress.ticked()
        progress.trial_finished(trial, TrialDocument(status="whole"), FIGURES)
    progress.close()

    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("p: 2 trials, about 26 s")
    assert lines[1] == "warning: cores are shared"
    assert len(lines) == 4
    assert "\x1b" not in stream.getvalue()


def test_on_a_terminal_there_is_a_bar_with_the_time_left():
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, width=120, force_terminal=True))
    plan = make()

    progress.started(plan, 1)
    progress.trial_started(plan.trials[1])
    progress.close()

    assert "1/2" in stream.getvalue()
    assert "left" in stream.getvalue()


def test_while_a_trial_runs_only_one_line_of_text_is_written_anew():
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, width=60, force_terminal=True))
    plan = make()
    progress.started(plan, 0)
    progress.trial_started(plan.trials[0])
    before = len(stream.getvalue())

    progress.ticked()

    written = stream.getvalue()[before:]
    assert written.startswith("\r")
    assert "0/2" in written
    assert written.endswith("s left\x1b[K")
    assert len(written.removeprefix("\r").removesuffix("\x1b[K")) < 60
    assert "\n" not in written


def test_a_line_printed_while_the_bar_is_there_takes_its_place():
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, width=120, force_terminal=True))
    plan = make()
    progress.started(plan, 0)
    progress.trial_started(plan.trials[0])

    progress.warned("not traced")
    progress.close()

    assert "\r\x1b[Kwarning: not traced\n" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_pipe_that_nobody_reads_any_more_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    reading, writing = os.pipe()
    os.close(reading)
    # It is closed without an error, too: nothing that could not be said is left in its buffer.
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        progress = TerminalProgress()
        progress.noted("to nobody")
        progress.warned("to nobody")
        progress.close()
        tell("to nobody")

    print("results go where they went")
    assert capfd.readouterr().out == "results go where they went\n"


def test_a_terminal_that_was_hung_up_ends_nothing():
    terminal, own = pty.openpty()
    plan = make()
    with os.fdopen(own, "w") as stream:
        progress = TerminalProgress(PatientConsole(file=stream, width=80, force_terminal=True))
        progress.started(plan, 0)
        os.close(terminal)

        progress.trial_started(plan.trials[0])
        progress.noted("to nobody")
        progress.close()


def test_the_time_left_shrinks_with_each_trial():
    plan = make()
    clock = TimeLeft()

    clock.start(plan, 0)
    before = clock.left_ns()
    clock.trial_started()
    clock.trial_finished(plan.trials[0])

    assert before > clock.left_ns() >= 0


def test_durations_are_written_as_people_plan():
    assert duration_words(200_000_000_000) == "3 min 20 s"
    assert duration_words(59_400_000_000) == "59 s"
    assert duration_words(2 * 3600 * 10**9) == "2 h 0 min"
