"""What `taut doctor` finds on this machine, removes and prints."""

import json
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from rich.console import Console

from taut.core.errors import TautError
from taut.core.plugins import lack
from taut.dut.drivers import DRIVERS
from taut.experiment import leftovers
from taut.host.capability import Status, capabilities
from taut.host.host import Host
from taut.records.documents.host import CapabilityOfMachine, DoctorDocument, RunAlive, Runnable
from taut.records.documents.json_form import plain
from taut.report.paragraph import INDENT, print_paragraph
from taut.testbed.cleanup import live_runs
from taut.testbed.control_groups import controllers_kept
from taut.testbed.links import LINKS
from taut.testbed.neighbours import NEIGHBOURS
from taut.testbed.placements import PLACEMENTS
from taut.testbed.scope import default_base


class _Summed(Protocol):
    """A member of a table, as doctor lists it."""

    @property
    def summary(self) -> str:
        """One line for the documentation."""
        ...


Member = TypeVar("Member", bound=_Summed)

_COLOURS = {"yes": "green", "limited": "yellow", "no": "red"}


def report_machine(*, clean: bool, as_json: bool) -> bool:
    """Say what this machine can do; `clean` removes what crashes left. False: a need is unmet.

    TautError: something of it could not be removed or put back.
    """
    failed: list[str] = []
    # First, because killed processes free what they hold.
    removed = leftovers.clean(default_base(), Host(), failed.append) if clean else []
    report = examine(removed)
    if as_json:
        print(json.dumps(plain(report), indent=1))
    else:
        _print(report)
    if failed:
        raise TautError("; ".join(failed))
    return not any(c.is_required and c.status == Status.NO for c in report.capabilities)


def examine(removed: list[str]) -> DoctorDocument:
    """Collect everything as one document."""
    with controllers_kept():
        placements = _runnable(PLACEMENTS, lambda kind: kind.missing(kind.options_type()))
    return DoctorDocument(
        capabilities=tuple(
            CapabilityOfMachine(
                capability.name,
                capability.status,
                capability.observed,
                capability.remedy,
                capability.is_required,
            )
            for capability in capabilities(Host())
        ),
        links=_runnable(LINKS, lambda kind: kind.missing()),
        devices=_runnable(DRIVERS, lambda driver: driver.missing(driver.options_type.example())),
        neighbours=_runnable(NEIGHBOURS, lambda kind: kind.missing()),
        placements=placements,
        runs_alive=tuple(RunAlive(owner.run_id, owner.pid) for owner in live_runs(default_base())),
        left_behind=tuple(leftovers.find(default_base(), Host())),
        removed=tuple(removed),
    )


def _runnable(
    table: Mapping[str, Member], ask: Callable[[Member], str | None]
) -> tuple[Runnable, ...]:
    """Ask each member of a table what it lacks; one that fails over that stops no other."""
    return tuple(Runnable(name, of.summary, lack(ask, of)) for name, of in table.items())


def _print(report: DoctorDocument) -> None:
    console = Console()
    print_paragraph(console, "This machine", style="italic")
    for capability in report.capabilities:
        remedy = f"; {capability.remedy}" if capability.remedy else ""
        _print_row(console, capability.name, capability.status, capability.observed + remedy)
    families = (
        ("Links", report.links),
        ("Devices", report.devices),
        ("Neighbours", report.neighbours),
        ("Placements", report.placements),
    )
    for title, rows in families:
        console.print()
        print_paragraph(console, title, style="italic")
        for row in rows:
            status = "yes" if row.missing is None else "no"
            _print_row(console, row.name, status, row.missing or row.summary)
    for run in report.runs_alive:
        print_paragraph(console, f"run {run.id} (pid {run.pid}) is alive")
    for thing in report.left_behind:
        print_paragraph(console, f"left by a dead process: {thing}; taut doctor --clean")
    for thing in report.removed:
        print_paragraph(console, f"removed {thing}")


def _print_row(console: Console, name: str, status: str, text: str) -> None:
    """`hugepages: yes, 512 free`; what cannot be is coloured."""
    print_paragraph(console, f"{name}: {status}, {text}", "", INDENT, style=_COLOURS[status])
