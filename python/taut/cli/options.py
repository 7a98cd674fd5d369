"""Options that several commands have, each stated once, and what some of them mean together.

Those of the commands of `taut host` alone are in host/options.py.
"""

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from taut.core.cpus import CpuSet, parse_cpu_list
from taut.core.credentials import refuse_password
from taut.core.errors import InputError

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")
]
DetailsOption = Annotated[
    bool, typer.Option("--details", help="Also print what the report has behind its folds.")
]
ImagesOption = Annotated[
    bool,
    typer.Option("--images", help="Also write every figure as SVG and PNG: figures/, beside it."),
]
TimingsOption = Annotated[
    bool, typer.Option("--timings", help="Also say where the time went, stage by stage.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Run only what --out does not hold yet.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print what is measured, cores, disk and time; no more.")
]
OnlyOption = Annotated[
    str | None, typer.Option(metavar="PATTERN", help="Only trials whose name matches this.")
]
MinOption = Annotated[
    str | None, typer.Option("--min", metavar="RATE", help="The lowest load; default: 1kpps.")
]
MaxOption = Annotated[
    str | None,
    typer.Option(
        "--max",
        metavar="RATE",
        help="The highest load, as of a medium; default: 20Mpps. At most what the loopback "
        "carries.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the experiment: duration=2s, traffic.constant.rates=10kpps,20kpps.",
    ),
]
TraceOption = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="continuous|tail",
        help="Record what the kernel does on the cores: all of it, or what surrounds spikes; "
        "default: all in trials up to five minutes, if this machine can.",
    ),
]
NoTraceOption = Annotated[bool, typer.Option("--no-trace", help="Record packets alone.")]
WithoutVoidOption = Annotated[
    bool, typer.Option("--without-void", help="Leave out packets the generator itself held up.")
]
WaitOption = Annotated[
    bool,
    typer.Option(
        "--wait", help="Where another measurement holds the cores, wait for its end; else stop."
    ),
]
EngineUrlOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where it is: postgresql://USER@HOST:PORT/DATABASE (default: as PGHOST and the "
        "other PG* say); spark://HOST:PORT (default: local[*]). A password is given by "
        "PGPASSWORD or ~/.pgpass, never here.",
        callback=refuse_password,
    ),
]
ProfileOption = Annotated[
    str, typer.Option(metavar="PROFILE", help="How far to go: minimal, recommended or extreme.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask before changing the host.")]


def run_directory_option(default: str) -> OptionInfo:
    """Make --out of a command that leaves a run directory; `default` is for the help."""
    info: OptionInfo = typer.Option(
        "--out", metavar="DIR", help=f"The run directory; default: {default}."
    )
    return info


def refuse_resume_of_nothing(resume: bool, out: Path | None) -> None:
    """InputError: --resume without the run that is to go on."""
    if resume and out is None:
        raise InputError("--resume: which run? give its directory with --out")


def refuse_plan_as_json(dry_run: bool, as_json: bool) -> None:
    """InputError: a document of what is not measured."""
    if dry_run and as_json:
        raise InputError("--dry-run and --json: one of them; a plan is printed in words")


def search_limits(least: str | None, most: str | None) -> list[str]:
    """Give what --min and --max ask for, as --set would."""
    limits = (("min", least), ("max", most))
    return [f"search.{key}={rate}" for key, rate in limits if rate is not None]


def parse_cores(cores: str | None) -> CpuSet | None:
    """Read --cores; None: it was not given. InputError: an empty text, or no list of cores."""
    if cores is None:
        return None
    if not cores.strip():
        raise InputError(
            f"--cores {cores!r}: names no core; write a list like 2-3, or leave it out"
        )
    return parse_cpu_list(cores)


def core_overrides(cores: str | None) -> list[str]:
    """Give what --cores asks for, as --set would: a role it does not name is as the file has it.

    InputError: it names no core, or more than the device's and the generator's.
    """
    if cores is None:
        return []
    named = [core for part in cores.split(",") for core in parse_cpu_list(part)]
    if not 1 <= len(named) <= 2:
        raise InputError(
            f"--cores {cores}: name the device's core, or the device's and the generator's: 2,3"
        )
    roles = ("device", "generator")[: len(named)]
    return [f"cores.{role}={core}" for role, core in zip(roles, named, strict=True)]


def with_trace(overrides: list[str] | None, trace: str | None, no_trace: bool) -> list[str]:
    """Add what --trace and --no-trace ask for, as --set would: the manifest then has it too."""
    if trace is not None and no_trace:
        raise InputError("--trace and --no-trace: one of them")
    asked = "off" if no_trace else trace
    return [*(overrides or []), *([] if asked is None else [f"trace={asked}"])]
