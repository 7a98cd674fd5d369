"""What a run shows while it works: a bar with the time left on a terminal, plain lines elsewhere.

The bar is drawn when the runner says so, at most every ten seconds in a trial: no thread of its own
may wake on the generator's core.
"""

import time
from contextlib import suppress

from rich.console import Console

from taut.cli.unread import PatientConsole, unread_is_dropped
from taut.core.units import digits_of, duration_words, format_ns
from taut.experiment.plan import Plan, Trial
from taut.experiment.quick_figures import QuickFigures
from taut.records.documents.trial import Failure, TrialDocument
from taut.report.paragraph import print_note

# Of terminals that are not dumb (ECMA-48).
_LINE_START, _ERASE_REST = "\r", "\x1b[K"
_BAR_WIDTH = 24
_LEFT_WIDTH = len(" 999 h 59 min left")


class TerminalProgress:
    """One line per finished trial and a bar; all on stderr, so that stdout stays the result's.

    While a trial runs nothing but the time left is written anew, as plain text: a rendered bar
    takes the generator's core for two milliseconds. What nobody reads any more ends no measurement.
    """

    def __init__(
        self, console: Console | None = None, *, is_part: bool = False, first: str | None = None
    ) -> None:
        """`is_part`: several plans follow each other, and the start of each is not announced.

        `first` is printed before the first other line; an error before that stands alone.
        """
        self._console = console or PatientConsole(stderr=True)
        self._is_part = is_part
        self._first = first
        self._has_bar = False
        self._n_done = self._n_trials = 0
        self._clock = TimeLeft()
        self._before_left = ""  # the bar up to the time left

    def started(self, plan: Plan, n_done: int) -> None:
        """Say how much there is to do."""
        self._clock.start(plan, n_done)
        if self._is_part:
            return
        text = f"{plan.spec.name}: {len(plan.trials)} trials"
        done = f", {n_done} of them whole from before" if n_done else ""
        self._print(f"{text}{done}, about {duration_words(self._clock.left_ns())}")
        self._n_done, self._n_trials = n_done, len(plan.trials)
        self._has_bar = self._console.is_terminal and not self._console.is_dumb_terminal
        self._prepare("")

    def warned(self, text: str) -> None:
        """Print it at once; it is in the manifest too."""
        self._print(f"warning: {text}")

    def noted(self, text: str) -> None:
        self._print(text)

    def trial_started(self, trial: Trial) -> None:
        """Show which trial runs."""
        self._clock.trial_started()
        self._prepare(trial.name)
        self.ticked()

    def ticked(self) -> None:
        """Write the time left anew."""
        if self._has_bar:
            left = duration_words(self._clock.left_ns())
            self._write(f"{_LINE_START}{self._before_left}{left} left{_ERASE_REST}")

    def trial_finished(
        self, trial: Trial, document: TrialDocument, figures: QuickFigures | None
    ) -> None:
        """Print the trial's line."""
        self._clock.trial_finished(trial)
        self._n_done += 1
        self._prepare("")
        self._print(trial_line(trial, document, figures))

    def close(self) -> None:
        """Take the bar away."""
        self._erase()
        self._has_bar = False

    def _prepare(self, name: str) -> None:
        """Write the bar as far as it stays the same during a trial, in one line of the terminal."""
        n_full = _BAR_WIDTH * self._n_done // max(1, self._n_trials)
        bar = f"[{'#' * n_full}{'.' * (_BAR_WIDTH - n_full)}] {self._n_done}/{self._n_trials} "
        room = max(0, self._console.width - len(bar) - _LEFT_WIDTH)
        self._before_left = f"{name[:room]} {bar}" if name and room else bar

    def _erase(self) -> None:
        if self._has_bar:
            self._write(f"{_LINE_START}{_ERASE_REST}")

    def _write(self, text: str) -> None:
        with suppress(OSError), unread_is_dropped(self._console.file):
            self._console.file.write(text)
            self._console.file.flush()

    def _print(self, text: str) -> None:
        self._erase()
        with suppress(OSError), unread_is_dropped(self._console.file):
            if self._first is not None:
                print_note(self._console, self._first)
                self._first = None
            print_note(self._console, text)
        self.ticked()


class TimeLeft:
    """Guesses from the plan, and better with every trial that has ended."""

    def __init__(self) -> None:
        self._rest: dict[str, int] = {}
        self._deadline_ns = 0
        self._extra_ns: list[int] = []  # beyond what the plan said, per trial
        self._began = 0

    def start(self, plan: Plan, n_done: int) -> None:
        """Take the plan, of which the first `n_done` trials are already whole."""
        self._deadline_ns = plan.spec.deadline_ns
        self._rest = {trial.name: trial.expected_ns for trial in plan.trials[n_done:]}
        self._began = time.monotonic_ns()

    def trial_started(self) -> None:
        self._began = time.monotonic_ns()

    def trial_finished(self, trial: Trial) -> None:
        """Note how far off the guess for this trial was."""
        took_ns = time.monotonic_ns() - self._began
        self._rest.pop(trial.name, None)
        self._extra_ns.append(took_ns - trial.expected_ns)
        self._began = time.monotonic_ns()

    def left_ns(self) -> int:
        """Say how long the rest takes."""
        extra_ns = self._deadline_ns
        if self._extra_ns:
            extra_ns = sum(self._extra_ns) // len(self._extra_ns)
        whole_ns = sum(self._rest.values()) + len(self._rest) * extra_ns
        return max(0, whole_ns - (time.monotonic_ns() - self._began))


def trial_line(trial: Trial, document: TrialDocument, figures: QuickFigures | None) -> str:
    """Write a finished trial in one line."""
    if not document.is_whole:
        return f"{trial.name}: FAILED: {(document.failure or Failure()).reason}"
    if figures is None:
        return f"{trial.name}: nothing was counted"
    parts = [
        f"{name} {'none' if value is None else format_ns(value)}"
        for name, value in (("p50", figures.p50_ns), ("p99", figures.p99_ns))
    ]
    parts.append(f"lost {_percent(figures.loss_ratio)} %")
    if figures.unsent:
        parts.append(f"unsent {figures.unsent}")
    parts.append(f"generator late {_percent(figures.void_ratio)} %")
    return f"{trial.name}: {', '.join(parts)}"


def _percent(share: float) -> str:
    return digits_of(100 * share, unlike=100)
