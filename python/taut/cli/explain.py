"""`taut explain RUN`: the cause of every late packet, with evidence, and "unknown" where it is."""

from pathlib import Path
from typing import Annotated

import typer
from click.core import ParameterSource

from taut.cli.options import DetailsOption, JsonOption, TimingsOption, parse_cores
from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError
from taut.core.timings import stage, timed
from taut.core.units import parse_duration_ns

_GIVEN = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}
_TRACED, _SELF_TEST = "10s", "120s"

EXAMPLES = (
    "taut explain runs/first",
    "taut explain runs/first --trial '*buffered*' --over 25us",
    "taut explain 4242 --duration 5s",
    "taut explain --self-test --cores 1",
)

_RunArgument = Annotated[
    Path | None,
    typer.Argument(metavar="RUN|PID", help="A run directory, or a process by its PID."),
]
_TrialOption = Annotated[
    str, typer.Option(metavar="PATTERN", help="Only trials whose name matches this.")
]
_OverOption = Annotated[
    str,
    typer.Option(
        metavar="PERCENTILE|TIME",
        help="What is late: above this percentile of the trial, or this time.",
    ),
]
_PerfettoOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the worst episodes of one trial for ui.perfetto.dev."),
]
_CoresOption = Annotated[
    str | None,
    typer.Option(
        metavar="CPUS",
        help="Of a process: only what it polls on these; of the self-test: its one core.",
    ),
]
_DurationOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help=f"How long: a process ({_TRACED}), "
        f"each cause in the self-test ({_SELF_TEST} at most).",
    ),
]
_TestOption = Annotated[
    bool,
    typer.Option(
        "--self-test",
        help="Disturb a core (--cores) and every packet path on purpose, and check what explain "
        "says of it.",
    ),
]
_ActsOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Of the self-test: at least so many acts felt of each cause; on a path at most 30.",
    ),
]
_CausesOption = Annotated[
    list[str] | None,
    typer.Option("--cause", metavar="CAUSE", help="Of the self-test: only these causes."),
]
_PathsOption = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="NAME", help="Of the self-test: only these packet paths."),
]


_RUN, _PROCESS, _TEST = "a run", "a process", "--self-test"
# What only some subjects take, by parameter.
_TAKEN_BY = {
    **dict.fromkeys(("trial", "over", "perfetto"), _RUN),
    **dict.fromkeys(("details", "timings"), f"{_RUN} or {_PROCESS}"),
    **dict.fromkeys(("cores", "duration"), f"{_PROCESS} or {_TEST}"),
    **dict.fromkeys(("acts", "causes", "paths"), _TEST),
}


def explain(
    ctx: typer.Context,
    run: _RunArgument = None,
    trial: _TrialOption = "*",
    over: _OverOption = "p99.9",
    perfetto: _PerfettoOption = None,
    cores: _CoresOption = None,
    duration: _DurationOption = None,
    test: _TestOption = False,
    acts: _ActsOption = 400,
    causes: _CausesOption = None,
    paths: _PathsOption = None,
    details: DetailsOption = False,
    timings: TimingsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Name the cause of every late packet, with evidence, and say "unknown" where it is.

    Reads the run: packets, the gaps of generator and device, and the kernel's events. Without
    events (--no-trace) the gaps alone speak, and most causes stay unknown. A trial that cannot be
    explained has a line that says why, and the others are explained all the same. Of a process
    that keeps no log of its gaps, stalls come from the kernel's events alone.
    """
    is_process = run is not None and _is_number(run) and not run.exists()
    _check_subject(ctx, _TEST if test else _PROCESS if is_process else _RUN)
    if test:
        # Here and below, not above: `-h` needs none of it.
        from taut.cli.self_test import print_self_test

        named = parse_cores(cores) or cpuset_cores()[-1:]
        if len(named) > 1:
            raise InputError(f"--cores {cores}: --self-test disturbs one core; name one")
        most_ns = parse_duration_ns(duration or _SELF_TEST)
        print_self_test(named[0], acts, most_ns, causes or (), paths or (), as_json)
        return
    if run is None:
        raise InputError("explain: name a run directory or a process, or give --self-test")
    with timed(timings):
        with stage("libraries"):
            from taut.cli import explain_job

        if is_process:
            duration_ns = parse_duration_ns(duration or _TRACED)
            found = explain_job.of_process(int(run.name), cores, duration_ns)
        else:
            found = explain_job.of_trials(run, trial, over, perfetto)
        explain_job.print_found(run, found, as_json=as_json, details=details)


def _is_number(run: Path) -> bool:
    """Whether it can be a process: of a path, `runs/42`, the last part alone is a number."""
    return str(run).isascii() and str(run).isdigit()


def _check_subject(ctx: typer.Context, subject: str) -> None:
    """InputError: an option of another subject was given, or a run or process to the self-test."""
    given = [p for p in ctx.command.params if ctx.get_parameter_source(p.name or "") in _GIVEN]
    for param in given:
        taken_by = _TAKEN_BY.get(param.name or "", subject)
        if subject not in taken_by:
            raise InputError(f"{param.opts[0]}: goes with {taken_by}, not with {subject}")
    if subject == _TEST and any(param.name == "run" for param in given):
        raise InputError("--self-test: makes its own runs; leave the run or process out")
