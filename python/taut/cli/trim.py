"""`taut trim SPEC`: measure, explain, change the host, measure again, keep what helps."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import (
    JsonOption,
    ProfileOption,
    SetOption,
    WaitOption,
    YesOption,
    core_overrides,
    run_directory_option,
)
from taut.core.errors import InputError
from taut.core.units import parse_duration_ns

_TARGET, _WINDOW = "p99.9", "2s"

EXAMPLES = (
    "taut trim examples/first-look.toml --budget 5m",
    "taut trim --pid 4242 --cores 2,3",
)

_SpecArgument = Annotated[
    Path | None, typer.Argument(help="The experiment to trim for; examples/ has some.")
]
_PidOption = Annotated[
    int | None,
    typer.Option(
        metavar="PID",
        help="Instead of an experiment: a program that polls, not loaded, judged by its stalls.",
    ),
]
_TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENTILE", help=f"The percentile that shall become shorter; default: {_TARGET}."
    ),
]
_OnlyOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Try these checks or remedies alone: R24,R06-now."),
]
_CoresOption = Annotated[
    str | None,
    typer.Option(
        metavar="CPUS",
        help="Measure on these cores: the device's, then the generator's, as 2,3; of a "
        "process: those of its threads to watch.",
    ),
]
_WindowOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help=f"Of a process: how long to watch at a time; default: {_WINDOW}."
    ),
]
_KeepOption = Annotated[
    bool, typer.Option("--keep", help="Leave what is shown to help in force at the end.")
]
_DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Measure as found, list what would be tried; change nothing."),
]


def trim(
    spec: _SpecArgument = None,
    pid: _PidOption = None,
    target: _TargetOption = None,
    profile: ProfileOption = "recommended",
    only: _OnlyOption = None,
    cores: _CoresOption = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may measure.")] = "10m",
    window: _WindowOption = None,
    keep: _KeepOption = False,
    dry_run: _DryRunOption = False,
    yes: YesOption = False,
    overrides: SetOption = None,
    wait: WaitOption = False,
    as_json: JsonOption = False,
    out: Annotated[Path | None, run_directory_option("runs/trim-NAME-TIME")] = None,
) -> None:
    """Find out which settings of this host make the tail shorter, by measuring with and without.

    The host is measured as found, its tail explained, and the remedies of the causes and of the
    audit's failures tried in turn with the host as found, until their effect is shown or the budget
    ends. At the end the host is as it was, unless --keep.
    """
    # Here and below, not above: `-h` needs none of it.
    from taut.cli.trim_job import job_for
    from taut.trim.job import request_for

    _check_together(spec, pid, target, overrides, window)
    request = request_for(profile, only, budget)
    job = job_for(request, keep=keep, yes=yes, dry_run=dry_run)
    if pid is not None:
        from taut.cli.trim_process import trim_process

        window_ns = parse_duration_ns(window or _WINDOW)
        trim_process(
            job,
            pid,
            cores=cores,
            budget=budget,
            window_ns=window_ns,
            wait=wait,
            as_json=as_json,
            out=out,
        )
    elif spec is not None:
        from taut.cli.trim_experiment import trim_experiment
        from taut.experiment.run_manifest import Origin
        from taut.experiment.spec import read_spec_text

        changed = (*(overrides or ()), *core_overrides(cores))
        origin = Origin(read_spec_text(spec), str(spec), changed, tuple(sys.argv))
        target = target or _TARGET
        trim_experiment(job, origin, target, budget=budget, wait=wait, as_json=as_json, out=out)


def _check_together(
    spec: Path | None,
    pid: int | None,
    target: str | None,
    overrides: list[str] | None,
    window: str | None,
) -> None:
    """InputError: nothing to trim for, or both, or an option of the other one."""
    if (spec is None) == (pid is None):
        raise InputError("trim: name an experiment, or a process with --pid: one of them")
    if pid is not None and pid < 1:
        raise InputError(f"--pid {pid}: no process; `pgrep -l NAME` finds it")
    if pid is None:
        if window is not None:
            raise InputError("--window: of a process (--pid); an experiment has its own duration")
        return
    named = {"--target": target, "--set": overrides}
    for option in (option for option, value in named.items() if value):
        raise InputError(f"{option}: of an experiment; a process (--pid) is judged by its stalls")
