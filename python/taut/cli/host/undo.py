"""`taut host undo`: put back what apply changed, byte for byte."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.host.values import need_root, shown
from taut.cli.options import WaitOption
from taut.core.errors import TautError
from taut.host.boot.tuned import profiles_besides
from taut.host.boot_files import in_force_after
from taut.host.host import Host
from taut.host.inheriting import InheritingThread
from taut.host.journal import Journal
from taut.host.settings.placed_file import PlacedFile
from taut.host.undo import Touched, UndoReport
from taut.host.undo import undo as undo_host
from taut.host.writer import Writer
from taut.report.paragraph import INDENT, print_note, print_paragraph

_N_SHOWN = 10


EXAMPLES = ("taut host undo",)


def undo(
    boot: Annotated[
        bool,
        typer.Option("--boot", help="Only the files of `apply --boot`; what runs stays as it is."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also what somebody else changed since, under a measurement, and with lost lines.",
        ),
    ] = False,
    wait: WaitOption = False,
) -> None:
    """Put back the values from before the first apply, in reverse order, and files as well.

    Can be called again after a crash, and files are put back any number of boots later. Writes
    nothing if somebody else changed a value meanwhile, or somebody measures on this host.
    """
    # Here, not above: `-h` needs none of it.
    from taut.experiment import leftovers

    need_root("taut host undo")
    host = Host()
    console = Console()
    journal = Journal(host)
    if not journal.is_there:
        print_paragraph(console, "Nothing to undo.")
        return
    profiles = profiles_besides(host)  # Its own profile of tuned, which undo removes, tells.
    tell = partial(print_note, Console(stderr=True))
    asks = not boot and (wait or not force)
    free = leftovers.free_to_change(
        host, wait=wait, waiting=tell, otherwise=", or --force", is_forced=force
    )
    with free if asks else nullcontext(), journal.locked():
        report = undo_host(host, Writer(host), journal, force=force, only_files=boot)
    print_undo(console, report)
    paths = {setting.path for setting in report.restored if isinstance(setting, PlacedFile)}
    for path, words in report.still_booted.items():
        print_paragraph(
            console,
            f"{path} was made since, with parameters of taut; take them out of its options: "
            f"{words}",
        )
    if paths and not report.still_booted:
        when = in_force_after(host, paths, profiles)
        print_paragraph(console, f"The boot configuration from before is in force {when}.")
    if report.is_refused:
        names = ", ".join(one.setting.name for one in report.strangers)
        raise TautError(
            f"undo: somebody else changed {names}; nothing was written, --force puts them back too"
        )
    if not report.is_good or report.still_listed:
        raise typer.Exit(1)


def print_undo(console: Console, report: UndoReport) -> None:
    """Print what undo did."""
    for complaint in report.complaints:
        print_paragraph(console, f"Corrupt: {complaint}")
    _print_touched(console, "A reboot took these back already", "now", report.by_reboot)
    _print_touched(console, "Changed by somebody else", "now", report.strangers)
    _print_touched(console, "Not put back", "still", report.failed)
    for setting in report.gone:
        print_paragraph(console, f"{setting.name}: no longer there, nothing to put back")
    if report.widened:
        print_paragraph(
            console,
            f"{_threads(report.widened)} started since had inherited their cores from threads "
            "that apply had moved; they may run where those may again",
        )
    if report.inheriting:
        before = report.inheriting[0].before
        print_paragraph(
            console,
            f"{_threads(report.inheriting)} started since may have chosen their one core, or "
            "inherited it from threads that apply had moved; they keep it, and `taskset -cp "
            f"{before} THREAD` changes that",
        )
    for interrupt in report.elsewhere:
        print_paragraph(
            console,
            f"interrupt {interrupt.irq}: its mask is as before, its core not: it did not fire",
        )
    if report.is_refused:
        return
    if report.was_empty:
        print_paragraph(console, "Nothing to undo.")
        return
    n_same = len(report.was_as_before)
    counts = f"{len(report.restored)} settings put back, {n_same} were as before."
    print_paragraph(console, counts)
    if report.archive is not None:
        print_paragraph(console, f"The journal is put aside: {report.archive}")
    elif report.still_listed:
        print_paragraph(
            console,
            f"{report.still_listed}: it still lists what is put back; once it can be written, "
            "`taut host undo` puts it aside.",
        )
    elif report.complaints:
        print_paragraph(console, "The journal stays where it is; undo --force puts it aside.")


def _threads(ones: Sequence[InheritingThread]) -> str:
    """Count threads and name the first: `2 threads (100 101)`."""
    names = " ".join(str(one.setting.thread) for one in ones[:_N_SHOWN])
    more = " ..." if len(ones) > _N_SHOWN else ""
    return f"{len(ones)} thread{'s'[: len(ones) > 1]} ({names}{more})"


def _print_touched(console: Console, title: str, now: str, ones: Sequence[Touched]) -> None:
    if not ones:
        return
    print_paragraph(console, f"{title}:")
    for one in ones:
        values = f"was {shown(one.old)}, {now} {shown(one.in_force)}"
        why = f" ({one.why})" if one.why else ""
        print_paragraph(console, f"{one.setting.name}: {values}{why}", INDENT, 2 * INDENT)
