"""`taut host cmdline`: the kernel parameters for a role and its cores, a reason each."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from taut.cli.host.planning import parse_profile
from taut.core.cpus import format_cpu_list, parse_cpu_list
from taut.core.errors import InputError
from taut.host.audit import find_situation
from taut.host.boot.choose import choose_wishes
from taut.host.boot.command_line import Reasoned, command_line, merge_parameters
from taut.host.check import Profile
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation


def cmdline(
    role: Annotated[Role | None, typer.Option(help="What it is used for; default: found.")] = None,
    cores: Annotated[
        str | None, typer.Option(help="Cores that poll, as 2-3; default: isolated, or polled on.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="How far to go: minimal, recommended or extreme.")
    ] = "recommended",
    root: Annotated[
        Path, typer.Option(help="A folder with a copied machine's /proc, /sys and /etc.")
    ] = Path("/"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print the kernel parameters for a role and its cores, with a reason each.

    Those in force already are among them. Reads only.
    """
    chosen = parse_profile(profile)
    host = Host(root)
    named = None if cores is None else parse_cpu_list(cores)
    situation = find_situation(host, role, named)
    if situation.role in POLLING and not situation.cores:
        raise InputError("no core polls here, and none is isolated; name some with --cores")
    wishes = choose_wishes(CHECKS, host, situation, chosen)
    parameters = merge_parameters(wishes, situation.online)
    if as_json:
        typer.echo(json.dumps(_document(situation, chosen, parameters), indent=1))
    else:
        _print(parameters)


def _document(
    situation: Situation, profile: Profile, parameters: list[Reasoned]
) -> dict[str, object]:
    return {
        "role": situation.role,
        "cores": format_cpu_list(situation.cores),
        "profile": profile.name.lower(),
        "cmdline": command_line(parameters),
        "parameters": [
            {"parameter": str(each.parameter), "by": each.by, "why": each.reason}
            for each in parameters
        ],
    }


def _print(parameters: list[Reasoned]) -> None:
    if not parameters:
        typer.echo("no kernel parameter helps here", err=True)
        return
    typer.echo(command_line(parameters))
    console = Console(highlight=False)
    for each in parameters:
        console.print(f"\n{escape(str(each.parameter))}  ({escape(each.by)})", soft_wrap=True)
        console.print(Padding(escape(each.reason), (0, 0, 0, 4)))
