"""`taut trim SPEC`: measure, explain, change the host, measure again, keep what helps."""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.planning import parse_profile, split_names
from taut.cli.progress import TerminalProgress
from taut.cli.run_job import WaitOption, core_overrides, default_out, finish
from taut.cli.trim_job import Job
from taut.cli.trim_process import WINDOW, trim_process
from taut.cli.trim_words import print_trim
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.core.files import write_json
from taut.core.units import parse_duration_ns
from taut.experiment.interrupt import interruptible
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import measuring
from taut.experiment.spec import parse_spec, read_spec_text
from taut.host.checks import CHECKS
from taut.host.plan import check_names
from taut.records.documents.results import Analysis
from taut.records.documents.trim import TRIM_FILE
from taut.records.rundir import RunDirectory
from taut.report.paragraph import print_note

_TARGET = "p99.9"


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
        metavar="PID", help="Instead: a program that polls, not loaded, judged by its stalls."
    ),
]
_TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENTILE", help="The percentile that shall become shorter; default: p99.9."
    ),
]
_ProfileOption = Annotated[
    str, typer.Option(metavar="PROFILE", help="How far to go: minimal, recommended or extreme.")
]
_OnlyOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Try these checks or remedies alone: R24,K04-now."),
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
    typer.Option(metavar="TIME", help=f"Of a process: how long to watch at a time; {WINDOW}."),
]
_KeepOption = Annotated[
    bool, typer.Option("--keep", help="Leave what is shown to help in force at the end.")
]
_DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Measure as found, list what would be tried; change nothing."),
]
_YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask before changing the host.")]
_OverridesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value: duration=2s."),
]
_OutOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The run directory; default: runs/trim-NAME-TIME."),
]


def trim(
    spec: _SpecArgument = None,
    pid: _PidOption = None,
    target: _TargetOption = None,
    profile: _ProfileOption = "recommended",
    only: _OnlyOption = None,
    cores: _CoresOption = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may measure.")] = "10m",
    window: _WindowOption = None,
    keep: _KeepOption = False,
    dry_run: _DryRunOption = False,
    yes: _YesOption = False,
    overrides: _OverridesOption = None,
    wait: WaitOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    out: _OutOption = None,
) -> None:
    """Find out which settings of this host make the tail shorter, by measuring with and without.

    The host is measured as found, its tail explained, and the remedies of the causes and of the
    audit's failures tried in turn with the host as found, until their effect is shown or the budget
    ends. At the end the host is as it was, unless --keep.
    """
    # Here, not above: the other commands start without the analysis.
    from taut.trim.trim import Request

    _check_together(spec, pid, target, overrides, window)
    request = Request(
        profile=parse_profile(profile),
        only=None if only is None else tuple(split_names(only) or ()),
        budget_s=parse_duration_ns(budget) / 1e9,
    )
    check_names(CHECKS, request.only or ())
    job = Job(request, keep=keep, yes=yes, dry_run=dry_run, as_json=as_json)
    if pid is not None:
        window_ns = parse_duration_ns(window or WINDOW)
        trim_process(job, pid, cores=cores, budget=budget, window_ns=window_ns, wait=wait, out=out)
    elif spec is not None:
        text = read_spec_text(spec)
        changed = (*(overrides or ()), *core_overrides(cores))
        origin = Origin(text, str(spec), changed, tuple(sys.argv))
        parsed = parse_spec(text, changed, source=origin.source)
        _trim_experiment(job, parsed, target or _TARGET, origin, budget=budget, wait=wait, out=out)


def _trim_experiment(
    job: Job,
    spec: Spec,
    target: str,
    origin: Origin,
    *,
    budget: str,
    wait: bool,
    out: Path | None,
) -> None:
    """Run its trials in every state of the host; leave a run with a trim.json and a report."""
    from taut.trim.looks import LEAST_PAIRS
    from taut.trim.packets import PacketsBench, check_target, repetition_seconds

    check_target(spec, target)
    one, two = (repetition_seconds(spec, n) for n in (1, 2))
    job.check(budget, one + LEAST_PAIRS * two, "--set duration=1s")
    plan = make_plan(spec, repetitions=range(1, 2))
    require(plan)
    directory = out or default_out(f"trim-{spec.name}")
    with interruptible():
        try:
            with (
                closing(TerminalProgress(is_part=True)) as progress,
                measuring(
                    plan, directory, False, progress, origin, wait=wait, in_parts=True
                ) as session,
            ):
                job.measure(
                    PacketsBench(session, spec, target),
                    session.states.situation,
                    progress.noted,
                    scouting="The host as found, once, to see what makes its packets late.",
                    target=target,
                    cores=session.cores.to_quiet,
                )
        except KeyboardInterrupt:
            raise InterruptedRun(
                f"interrupted: the host is as it was; what was measured is in {directory}"
            ) from None
        _report(job, RunDirectory(directory))


def _report(job: Job, run: RunDirectory) -> None:
    """Keep what is to be kept, write the report, print."""
    from taut.trim.document import with_causes

    failure = None
    try:
        job.put_in_force()
    except TautError as error:
        failure = error  # What was measured is reported all the same.

    def publish(run: RunDirectory, analysis: Analysis) -> None:
        job.document = with_causes(job.document, analysis.trials)
        write_json(run.path / TRIM_FILE, job.plain())

    def show(report: Path) -> None:
        if job.as_json:
            json.dump(job.plain(), sys.stdout)
            print()
        else:
            print_trim(job.document, Console(), report, is_dry=job.dry_run)

    n_failed = finish(run, as_json=job.as_json, publish=publish, show=show)
    if n_failed:
        print_note(job.notes, f"{n_failed} trials failed; their trial.json and logs say why")
    if failure is not None:
        raise failure


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
    if pid is None:
        if window is not None:
            raise InputError("--window: of a process (--pid); an experiment has its own duration")
        return
    named = {"--target": target, "--set": overrides}
    for option in (option for option, value in named.items() if value):
        raise InputError(f"{option}: of an experiment; a process (--pid) is judged by its stalls")
