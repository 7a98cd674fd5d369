"""`taut host undo`: put back what apply changed, byte for byte."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.cli.host.planning import need_root, shown
from taut.core.errors import TautError
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.undo import Touched, UndoReport
from taut.host.undo import undo as undo_host
from taut.host.writer import Writer

_N_SHOWN = 10


def undo(
    force: Annotated[
        bool,
        typer.Option("--force", help="Also what somebody else changed since, and with lost lines."),
    ] = False,
) -> None:
    """Put back the values from before the first apply, in reverse order, and files as well.

    Can be called again after a crash. Writes nothing if somebody else changed a value meanwhile.
    """
    need_root("taut host undo")
    host = Host()
    console = Console()
    journal = Journal(host)
    if not journal.is_there:
        console.print("Nothing to undo.")
        return
    with journal.locked():
        report = undo_host(host, Writer(host), journal, force=force)
    print_undo(console, report)
    if report.is_refused:
        names = ", ".join(one.setting.name for one in report.strangers)
        raise TautError(
            f"undo: somebody else changed {names}; nothing was written, --force puts them back too"
        )
    if not report.is_good:
        raise typer.Exit(1)


def print_undo(console: Console, report: UndoReport) -> None:
    """Print what undo did."""
    for complaint in report.complaints:
        console.print(f"Corrupt: {complaint}", markup=False)
    if report.by_reboot:
        console.print(
            _touched("A reboot took these back already", "now", report.by_reboot), soft_wrap=True
        )
    if report.strangers:
        console.print(_touched("Changed by somebody else", "now", report.strangers))
    if report.failed:
        console.print(_touched("Not put back", "still", report.failed))
    for setting in report.gone:
        console.print(f"{setting.name}: no longer there, nothing to put back", markup=False)
    if report.heirs:
        names = " ".join(str(heir.thread) for heir in report.heirs[:_N_SHOWN])
        more = " ..." if len(report.heirs) > _N_SHOWN else ""
        console.print(
            f"{len(report.heirs)} threads were started since and inherited cores from threads that "
            f"apply had moved; they keep them: {names}{more} (taskset changes it)"
        )
    for interrupt in report.elsewhere:
        console.print(
            f"interrupt {interrupt.irq}: its mask is as before, its core not: it did not fire"
        )
    if report.is_refused:
        return
    if report.was_empty:
        console.print("Nothing to undo.")
        return
    n_same = len(report.was_as_before)
    console.print(f"{len(report.restored)} settings put back, {n_same} were as before.")
    if report.archive is not None:
        console.print(f"The journal is put aside: {report.archive}", markup=False)
    elif report.complaints:
        console.print("The journal stays where it is; undo --force puts it aside.")


def _touched(title: str, now: str, ones: Sequence[Touched]) -> Table:
    table = Table("setting", "was", now, "", box=None, title=title)
    for one in ones:
        table.add_row(
            escape(one.setting.name),
            escape(shown(one.old)),
            escape(shown(one.in_force)),
            escape(one.why),
        )
    return table
