"""`taut host plan`: what would change, now and at boot; nothing is written to the machine."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.planning import plan_for, print_plan
from taut.host.host import Host
from taut.host.plan_document import as_document
from taut.host.situation import Role


def plan(
    role: Annotated[Role | None, typer.Option(help="What it is used for; default: found.")] = None,
    cores: Annotated[
        str | None, typer.Option(help="Cores that poll, as 2-3; default: isolated, or polled on.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="How far to go: minimal, recommended or extreme.")
    ] = "recommended",
    only: Annotated[
        str | None, typer.Option(help="Checks or remedies, as R06,K23-now; whatever profile.")
    ] = None,
    watch: Annotated[str, typer.Option(help="How long to watch counters, 0s: not.")] = "0s",
    show_all: Annotated[
        bool, typer.Option("--all", help="Also what is left alone, and what is so already.")
    ] = False,
    root: Annotated[
        Path, typer.Option(help="A folder with a copied machine's /proc, /sys and /etc.")
    ] = Path("/"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what would change, now and at boot, in order, with risk, cost and reason."""
    host = Host(root)
    found = plan_for(host, role=role, cores=cores, profile=profile, only=only, watch=watch)
    if as_json:
        typer.echo(json.dumps(as_document(found), indent=1))
    else:
        print_plan(Console(), found, show_all=show_all)
