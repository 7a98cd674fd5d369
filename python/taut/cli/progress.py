"""What a run shows while it works: a bar with the time left on a terminal, plain lines elsewhere.

The bar is drawn when the runner says so, at most once a second: no thread of its own may wake on
the generator's core.
"""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from taut.core.units import format_ns
from taut.experiment.plan import Plan, Trial


class TerminalProgress:
    """One line per finished trial and a bar; all on stderr, so that stdout stays the result's."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._clock = TimeLeft()
        self._name = ""

    def started(self, plan: Plan, n_done: int) -> None:
        """Say how much there is to do."""
        self._clock.start(plan, n_done)
        text = f"{plan.spec.name}: {len(plan.trials)} trials"
        done = f", {n_done} of them whole from before" if n_done else ""
        self._print(f"{text}{done}, about {duration_words(self._clock.left_ns())}")
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]} left"),
                console=self._console,
                auto_refresh=False,
                transient=True,
            )
            self._task = self._bar.add_task("", total=len(plan.trials), completed=n_done, left="")
            self._bar.start()

    def warned(self, text: str) -> None:
        """Print it at once; it is in the manifest too."""
        self._print(f"warning: {text}")

    def trial_started(self, trial: Trial) -> None:
        """Show which trial runs."""
        self._name = trial.name
        self._clock.trial_started()
        self.ticked()

    def ticked(self) -> None:
        """Draw the bar again."""
        if self._bar is not None:
            left = duration_words(self._clock.left_ns())
            self._bar.update(self._task, description=self._name, left=left)
            self._bar.refresh()

    def trial_finished(self, trial: Trial, meta: dict[str, Any], glance: dict[str, Any]) -> None:
        """Print the trial's line."""
        self._clock.trial_finished(trial)
        self._print(trial_line(trial, meta, glance))
        if self._bar is not None:
            self._bar.advance(self._task)
            self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        sys.stderr.flush()


class TimeLeft:
    """Guesses from the plan, and better with every trial that has ended."""

    def __init__(self) -> None:
        self._rest: dict[str, int] = {}
        self._deadline_ns = 0
        self._extra_ns: list[int] = []  # beyond what the plan said, per trial
        self._began = 0

    def start(self, plan: Plan, n_done: int) -> None:
        """Take the whole plan; trials already whole count as the first ones."""
        self._deadline_ns = plan.spec.deadline_ns
        self._rest = {trial.name: trial.expected_ns for trial in plan.trials[n_done:]}
        self._began = time.monotonic_ns()

    def trial_started(self) -> None:
        """Note when."""
        self._began = time.monotonic_ns()

    def trial_finished(self, trial: Trial) -> None:
        """Learn how far off the guess was."""
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


def trial_line(trial: Trial, meta: dict[str, Any], glance: dict[str, Any]) -> str:
    """Write a finished trial in one line."""
    if meta["status"] != "whole":
        return f"{trial.name}: FAILED: {meta['failure']['reason']}"
    parts = []
    for name in ("p50", "p99"):
        value = glance.get(f"{name}_ns")
        parts.append(f"{name} {'none' if value is None else format_ns(value)}")
    parts.append(f"lost {100 * glance['loss_ratio']:.3g} %")
    if glance["unsent"]:
        parts.append(f"unsent {glance['unsent']}")
    parts.append(f"void {100 * glance['void_ratio']:.3g} %")
    return f"{trial.name}: {', '.join(parts)}"


def duration_words(ns: int) -> str:
    """Write a time as people plan with it: `3 min 20 s`."""
    seconds = max(1, round(ns / 1e9))
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
