"""`taut host plan`: what would change, now and at boot; nothing is written to the machine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.options import (
    CoresOption,
    DeviceOption,
    OnlyOption,
    RoleOption,
    RootOption,
    WatchOption,
)
from taut.cli.host.planning import boot_files_of, plan_for, print_plan
from taut.cli.options import JsonOption, ProfileOption
from taut.core.errors import InputError
from taut.core.files import write_whole
from taut.host.boot_files import check_forms
from taut.host.host import Host
from taut.host.plan_document import as_document
from taut.records.documents.json_form import plain

EXAMPLES = (
    "taut host plan --cores 1",
    "taut host plan --cores 1 --boot --form grub --out boot",
)


def plan(
    role: RoleOption = None,
    cores: CoresOption = None,
    device: DeviceOption = None,
    profile: ProfileOption = "recommended",
    only: OnlyOption = None,
    watch: WatchOption = "0s",
    show_all: Annotated[
        bool, typer.Option("--all", help="Also what is left alone, and what is so already.")
    ] = False,
    root: RootOption = Path("/"),
    boot: Annotated[
        bool, typer.Option("--boot", help="Write boot configuration to --out as well.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for --boot: one folder per form in it."),
    ] = None,
    form: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORM",
            help="grub, bls, tuned, systemd or guest; default: what this machine reads.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what would change, now and at boot, in order, with risk, cost and reason."""
    if boot and out is None:
        raise InputError("taut host plan --boot: say where to write, with --out DIR")
    if out is not None and not boot:
        raise InputError("taut host plan --out: holds boot configuration; add --boot")
    check_forms(form or [], boot=boot)
    host = Host(root)
    found = plan_for(
        host, role=role, cores=cores, profile=profile, only=only, watch=watch, device=device
    )
    if as_json:
        typer.echo(json.dumps(plain(as_document(found)), indent=1))
    else:
        print_plan(Console(), found, show_all=show_all)
    if boot and out is not None:
        files = boot_files_of(host, found, only=only, forms=form or [])
        _write(out, files, quiet=as_json)


def _write(out: Path, files: Mapping[str, Mapping[str, str]], *, quiet: bool) -> None:
    """Write every form as the tree it would be."""
    for form, texts in files.items():
        for path, text in texts.items():
            target = out / form / path.lstrip("/")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_whole(target, text)
            except OSError as error:
                raise InputError(f"--out {out}: {error.strerror}: {target}") from None
            if not quiet:
                typer.echo(f"wrote {target}")
    if not any(files.values()) and not quiet:
        typer.echo("No boot configuration to write: nothing to set, or no form (--form) read here.")
