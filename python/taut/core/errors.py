"""One tree of errors; each class owns the exit status `taut` ends with.

TautError 1
├── InputError 2          a file, option or combination the user gave
│   └── MissingToolError  a program, library or right this machine lacks
├── TrialError 1          one trial failed; the run goes on
├── RequirementNotMet 3   measured, and not as good as was required
└── InterruptedRun 130    Ctrl-C; whole trials are kept

A message names the thing and the remedy. Only cli/main.py catches and prints.
"""

from collections.abc import Sequence


class TautError(Exception):
    """Something taut can explain in one line."""

    exit_status = 1


class InputError(TautError):
    """The user's input is wrong; nothing was measured."""

    exit_status = 2


class MissingToolError(InputError):
    """This machine lacks a program, a library or a right that was asked for."""


class TrialError(TautError):
    """One trial failed; `log_tail` holds the last lines of whoever failed."""

    def __init__(self, reason: str, log_tail: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log_tail = list(log_tail)


class RequirementNotMet(TautError):
    """Measuring went well; what was measured is not what was required."""

    exit_status = 3


class InterruptedRun(TautError):
    """The user stopped the run; whole trials are kept."""

    exit_status = 130
