"""Why packets of a run were late, or why a process did not have its cores: `taut explain`."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from taut.analysis.trial_names import headings, trial_of
from taut.api import Document
from taut.api.loaded import Run
from taut.core.cpus import parse_cpu_list
from taut.core.errors import InputError, telling
from taut.core.units import parse_duration_ns
from taut.explain.export.document import as_document
from taut.explain.read.packets import parse_over
from taut.explain.tell.result import Explanation, Options
from taut.explain.trial import explain_trial
from taut.explain.window import explain_window, threads_on
from taut.host.host import Host
from taut.records.documents.explanation import ExplainedRun, NotExplained
from taut.records.documents.json_form import plain_object
from taut.records.rundir import RunDirectory, TrialDirectory


@dataclass(frozen=True)
class Unexplained:
    """A trial of which nothing can be told."""

    trial: str
    why: str
    heading: str

    def __str__(self) -> str:
        return f"{self.heading}: not explained: {self.why}"


Found: TypeAlias = Explanation | Unexplained

Telling: TypeAlias = Callable[[str], AbstractContextManager[object]]
"""Shows, while it is entered, what is being done."""


@telling()
def explain(
    what: Run | str | os.PathLike[str] | int,
    *,
    trial: str = "*",
    over: str = "p99.9",
    cores: str | None = None,
    duration: str = "10s",
) -> Document:
    """Explain the late packets of a run, or, of a PID, a process's stalls for a while.

    Gives what `taut explain --json` prints. `trial` is a pattern of names and `over` what is late,
    a percentile or a time: both of a run; `cores` and `duration` are of a process. InputError: no
    such run or process, or none of its trials could be explained.
    """
    if isinstance(what, int):
        threads = threads_on(Host(), what, None if cores is None else parse_cpu_list(cores))
        found = explain_window(threads, parse_duration_ns(duration))
        return plain_object(explained_run(Path(str(what)), found))
    run = what.path if isinstance(what, Run) else Path(what)
    check_over(over)
    unexplained: list[Unexplained] = []
    document = explained_run(run, noted(explained(choose_trials(run, trial), over), unexplained))
    if not document.trials:
        raise InputError(str(unexplained[0]))
    return plain_object(document)


def check_over(over: str) -> None:
    """InputError: what is to be late is neither a percentile nor a time."""
    try:
        parse_over(over)
    except InputError as error:
        if over.startswith("p"):
            raise
        raise InputError(f"--over {over}: {error}; a percentile is said p99.9") from None


def choose_trials(run: Path, pattern: str) -> Sequence[TrialDirectory]:
    """Give the trials whose name matches. InputError: there is none, or no run."""
    if not run.exists():
        raise InputError(f"{run}: no such folder; name a run directory")
    trials = RunDirectory(run).trials()
    if not any(trial.is_whole for trial in trials):
        raise InputError(f"{run}: no whole trial; name a run directory of `taut run`")
    chosen = [trial for trial in trials if fnmatchcase(trial.name, pattern)]
    if not chosen:
        names = ", ".join(trial.name for trial in trials)
        raise InputError(f"--trial {pattern}: matches none of {names}")
    return chosen


def explained(
    trials: Sequence[TrialDirectory], over: str, telling: Telling = nullcontext
) -> Iterator[Found]:
    """One at a time: each holds its events, hundreds of megabytes in a long trial."""
    options = Options(over=over)
    called = [trial.meta.name or trial.name for trial in trials]
    rows = [trial_of(name, trial.meta) for name, trial in zip(called, trials, strict=True)]
    names = headings(rows)
    for name, trial in zip(called, trials, strict=True):
        heading = names[name]
        try:
            with telling(f"explaining {trial.name}"):
                explanation = explain_trial(trial.path, options)
        except InputError as error:
            yield Unexplained(name, str(error).removeprefix(f"{trial.name}: "), heading)
        else:
            yield replace(explanation, heading=heading)


def noted(found: Iterable[Found], unexplained: list[Unexplained]) -> Iterator[Found]:
    """Pass everything on, and add to the list what could not be explained."""
    for one in found:
        if isinstance(one, Unexplained):
            unexplained.append(one)
        yield one


def explained_run(run: Path, found: Iterable[Found]) -> ExplainedRun:
    """Make one document of what was explained, and of what could not be."""
    trials, not_explained = [], []
    for one in found:
        if isinstance(one, Unexplained):
            not_explained.append(NotExplained(one.trial, one.why))
        else:
            trials.append(as_document(one))
    return ExplainedRun(str(run), tuple(trials), tuple(not_explained))
