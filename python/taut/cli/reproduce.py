"""`taut reproduce NAME`: repeat a published experiment, print published beside measured."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from taut.cli.journey import default_out, print_plan, travel
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.dut.drivers import DRIVERS
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.runner import Origin
from taut.experiment.spec import parse_spec
from taut.experiment.words import did_you_mean
from taut.records.rundir import RunDirectory
from taut.reproduce import EXPERIMENTS
from taut.reproduce.experiment import PublishedExperiment, Section

PUBLISHED_FILE = "published.json"


def reproduce(
    name: Annotated[str, typer.Argument(help="The experiment: debs20.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Under three minutes, once each: shows, proves nothing.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The run directory; default: runs/NAME-TIME.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run only what --out does not hold yet.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the trials and their time; run nothing.")
    ] = False,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: duration=2s.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print results.json on stdout and nothing else there.")
    ] = False,
) -> None:
    """Repeat a published experiment; print published beside measured."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    missing = missing_devices(experiment)
    notes = Console(stderr=True)
    for device, reason in missing.items():
        notes.print(f"without {device}: {reason}", markup=False, highlight=False)
    text = experiment.spec_text(quick=quick, without=list(missing))
    spec = parse_spec(text, overrides or (), source=name)
    plan = make_plan(spec)
    if dry_run:
        print_plan(plan)
        require(plan)
        return
    if resume and out is None:
        raise InputError("--resume: which run? give its directory with --out")
    origin = Origin(text, f"taut reproduce {name}", tuple(overrides or ()), tuple(sys.argv))

    def publish(run: RunDirectory, document: dict[str, Any]) -> None:
        sections = experiment.compare(document["variants"])
        write_json(run.path / PUBLISHED_FILE, [section.as_json() for section in sections])
        print_sections(sections, Console(stderr=as_json))

    travel(
        plan, out or default_out(spec.name), origin, resume=resume, as_json=as_json, publish=publish
    )


def missing_devices(experiment: PublishedExperiment) -> dict[str, str]:
    """Say which optional devices this machine cannot run, and the remedy."""
    found = {}
    for device, driver in experiment.optional_devices().items():
        reason = DRIVERS[driver].missing(DRIVERS[driver].options_type())
        if reason is not None:
            found[device] = reason
    return found


def print_sections(sections: list[Section], console: Console) -> None:
    """Print published beside measured."""
    for section in sections:
        table = Table(
            *section.columns,
            title=section.title,
            title_justify="left",
            title_style="bold",
            box=None,
        )
        for row in section.rows:
            table.add_row(*row)
        console.print(table)
        if section.note:
            console.print(section.note, style="dim", highlight=False, markup=False)
        console.print()
