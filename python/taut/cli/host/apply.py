"""`taut host apply`: make the changes of a plan, each with its old value in the journal."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.options import CoresOption, DeviceOption, OnlyOption, RoleOption
from taut.cli.host.planning import boot_files_of, plan_for, print_plan
from taut.cli.host.undo import print_undo
from taut.cli.host.values import need_root, shown
from taut.cli.options import ProfileOption, WaitOption, YesOption
from taut.core.errors import InputError, InterruptedRun
from taut.experiment import leftovers
from taut.host.apply import ApplyReport, Outcome, Result, Wish, apply_changes
from taut.host.boot_files import check_forms, in_force_after, placements, takes_parameters
from taut.host.host import Host
from taut.host.state import wishes_of
from taut.host.writer import Writer
from taut.report.paragraph import INDENT, print_note, print_paragraph

_COLOURS = {
    Outcome.IN_FORCE: "green",
    Outcome.ALREADY: "green",
    Outcome.UNMOVABLE: "yellow",
    Outcome.GONE: "yellow",
    Outcome.OTHER_VALUE: "red",
    Outcome.FAILED: "red",
}


EXAMPLES = (
    "taut host apply --cores 1",
    "taut host apply --only R24,R06 --yes",
)


def apply(
    role: RoleOption = None,
    cores: CoresOption = None,
    device: DeviceOption = None,
    profile: ProfileOption = "recommended",
    only: OnlyOption = None,
    yes: YesOption = False,
    boot: Annotated[
        bool,
        typer.Option("--boot", help="Put boot configuration in place as well; it survives boots."),
    ] = False,
    form: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORM", help="grub, bls, tuned or systemd; default: what this machine reads."
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Leave what was done when a change fails.")
    ] = False,
    wait: WaitOption = False,
) -> None:
    """Make the changes of `taut host plan`; `taut host undo` takes them back.

    Should a change fail, those before it are taken back at once. What the machine may refuse, as
    interrupts its drivers manage, is no failure.
    """
    need_root("taut host apply")
    check_forms(form or [], boot=boot)
    if not yes and not sys.stdin.isatty():
        raise InputError("taut host apply: nobody to ask on this terminal; add --yes")
    host = Host()
    console = Console()
    with _free(host, console, wait=wait):
        found = plan_for(host, role=role, cores=cores, profile=profile, only=only, device=device)
    wishes = wishes_of(found)
    files = boot_files_of(host, found, only=only, forms=form or []) if boot else {}
    wishes += [Wish("boot", change) for change in placements(files)]
    if not yes:
        print_plan(console, found, show_all=False)
        if wishes and not typer.confirm(f"Make {len(wishes)} changes?"):
            raise typer.Exit(1)
    if not wishes:
        print_paragraph(console, "Nothing to change.")
        return
    with _free(host, console, wait=wait):
        report = _apply(host, wishes, keep_going=keep_going)
    print_applied(console, report)
    if boot and report.is_good:
        _print_boot(host, console, files, is_chosen=bool(form))
    if not report.is_good:
        raise typer.Exit(1)


@contextmanager
def _free(host: Host, console: Console, *, wait: bool) -> Iterator[None]:
    """Keep measurements off the host, which is then as dead runs found it."""
    tell = partial(print_note, Console(stderr=True))
    with leftovers.free_to_change(host, wait=wait, waiting=tell):
        for line in leftovers.put_host_back(host):
            print_paragraph(console, f"Left by a dead run: {line}.")
        yield


def print_applied(console: Console, report: ApplyReport) -> None:
    """Print what became of every change."""
    for result in report.results:
        print_paragraph(console, _line(result), "", INDENT, style=_COLOURS[result.outcome])
    if report.undone is not None:
        print_paragraph(console, "A change failed: those before it are taken back.")
        print_undo(console, report.undone)
        return
    if report.unsettled:
        words = f"The journal does not say that this apply came to its end: {report.unsettled}."
        print_paragraph(console, words, style="red")
    n_made = sum(result.outcome is Outcome.IN_FORCE for result in report.results)
    print_paragraph(
        console,
        f"{n_made} changes made. taut host verify: still in force? taut host undo: take them back.",
    )


def _line(result: Result) -> str:
    """`R06-now  /proc/sys/vm/stat_interval: 1 -> 120, in force`."""
    wish, note = result.wish, f" ({result.note})" if result.note else ""
    values = f"{shown(result.old)} -> {shown(result.in_force)}"
    return f"{wish.remedy}  {wish.change.setting.name}: {values}, {result.outcome}{note}"


def _print_boot(
    host: Host, console: Console, files: Mapping[str, Mapping[str, str]], *, is_chosen: bool
) -> None:
    """Say what is left to do until boot configuration is in force."""
    paths = {path for texts in files.values() for path in texts}
    print_paragraph(console, f"Boot configuration is in force {in_force_after(host, paths)}.")
    if not is_chosen and not takes_parameters(files):
        print_paragraph(
            console,
            "No file of this machine's boot loader that taut knows: give its kernel what "
            "`taut host cmdline` prints.",
        )


def _apply(host: Host, wishes: list[Wish], *, keep_going: bool) -> ApplyReport:
    try:
        return apply_changes(host, Writer(host), wishes, keep_going=keep_going)
    except KeyboardInterrupt:
        raise InterruptedRun(
            "interrupted; `taut host undo` takes back what was done so far"
        ) from None
