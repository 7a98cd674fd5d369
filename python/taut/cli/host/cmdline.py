"""`taut host cmdline`: the kernel parameters for a role and its cores, a reason each."""

import json
from pathlib import Path

import typer
from rich.console import Console

from taut.cli.host.options import CoresOption, DeviceOption, RoleOption, RootOption, waiting_of
from taut.cli.options import JsonOption, ProfileOption, parse_cores
from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError
from taut.host.audit import find_situation
from taut.host.boot.choose import choose_wishes
from taut.host.boot.command_line import Reasoned, command_line, merge_parameters
from taut.host.boot.others import at_next_boot, lists_of_others
from taut.host.check import Profile, parse_profile
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.table import POLLING
from taut.records.documents.host import CmdlineDocument, ParameterReasoned
from taut.records.documents.json_form import plain
from taut.report.paragraph import INDENT, print_paragraph

EXAMPLES = ("taut host cmdline --role poll-core --cores 1",)


def cmdline(
    role: RoleOption = None,
    cores: CoresOption = None,
    device: DeviceOption = None,
    profile: ProfileOption = "recommended",
    root: RootOption = Path("/"),
    as_json: JsonOption = False,
) -> None:
    """Print the kernel parameters for a role and its cores, with a reason each.

    Those in force already are among them. Reads only.
    """
    chosen = parse_profile(profile)
    host = Host(root)
    situation = find_situation(host, role, parse_cores(cores), waiting=waiting_of(device))
    if situation.role in POLLING and not situation.cores:
        raise InputError("no core polls here, and none is isolated; name some with --cores")
    wishes = choose_wishes(CHECKS, host, at_next_boot(host, situation), chosen)
    parameters = merge_parameters(wishes, situation.online, lists_of_others(host))
    if as_json:
        typer.echo(json.dumps(plain(_document(situation, chosen, parameters)), indent=1))
    else:
        _print(parameters)


def _document(
    situation: Situation, profile: Profile, parameters: list[Reasoned]
) -> CmdlineDocument:
    return CmdlineDocument(
        role=situation.role,
        cores=format_cpu_list(situation.cores),
        profile=profile.name.lower(),
        cmdline=command_line(parameters),
        parameters=tuple(
            ParameterReasoned(str(each.parameter), each.by, each.reason) for each in parameters
        ),
    )


def _print(parameters: list[Reasoned]) -> None:
    if not parameters:
        typer.echo("no kernel parameter helps here", err=True)
        return
    typer.echo(command_line(parameters))
    console = Console()
    for each in parameters:
        console.print()
        print_paragraph(console, f"{each.parameter}  ({each.by})")
        print_paragraph(console, each.reason, INDENT)
