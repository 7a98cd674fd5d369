"""Options that commands of `taut host` share: the machine, what it is for, what runs there."""

from pathlib import Path
from typing import Annotated

import typer

from taut.core.errors import InputError
from taut.host.situation import POLLS_ONLY, Role, Waiting

RoleOption = Annotated[
    Role | None,
    typer.Option(
        metavar="ROLE", help=f"What it is used for: {', '.join(Role)}; default: as it looks."
    ),
]
CoresOption = Annotated[
    str | None,
    typer.Option(
        metavar="CPUS",
        help="Cores that poll, as 2-3; default: those set apart, or those polled on.",
    ),
]


def complete_device(incomplete: str) -> list[str]:
    """Complete the last name of a list, plug-ins' too; nothing of theirs is imported."""
    # Here, not above: only who completes waits for it.
    from taut.dut.drivers import DRIVERS

    before, comma, last = incomplete.rpartition(",")
    names = (*DRIVERS.names(), *Waiting)
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def complete_checks(incomplete: str) -> list[str]:
    """Complete the last id of a list of checks."""
    from taut.host.checks import CHECKS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{check.id}" for check in CHECKS if check.id.startswith(last)]


DeviceOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Drivers of what runs on the cores, which say whether they poll or sleep, or "
        "polls,sleeps themselves; default: polls.",
        autocompletion=complete_device,
    ),
]
OnlyOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Checks or remedies, as R06,K23-now; whatever profile.",
        autocompletion=complete_checks,
    ),
]


def _check_folder(root: Path) -> Path:
    """InputError: it is none; every check of it would be unknown."""
    if not root.is_dir():
        raise InputError(f"--root {root}: no such folder; name one that holds proc, sys and etc")
    return root


RootOption = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="A folder with a copied machine's /proc, /sys and /etc.",
        callback=_check_folder,
    ),
]
WatchOption = Annotated[
    str, typer.Option(metavar="TIME", help="How long to watch counters; 0s: not at all.")
]


def waiting_of(device: str | None) -> frozenset[Waiting]:
    """Say what devices do while no packet comes; None: they poll.

    Each is `polls`, `sleeps`, or a driver, whose default counts. InputError: there is none such.
    """
    if device is None:
        return POLLS_ONLY
    return frozenset(_waiting_of(name) for name in device.split(","))


def _waiting_of(name: str) -> Waiting:
    if name in list(Waiting):
        return Waiting(name)
    # Here, not above: only --device needs the libraries of measuring.
    from taut.dut.drivers import DRIVERS

    if name not in DRIVERS:
        known = ", ".join((*DRIVERS.names(), *Waiting))
        raise InputError(f"--device {name or repr(name)}: no such driver; there are {known}")
    driver = DRIVERS[name]
    # Not validated: `command` needs a program that does not matter here.
    return driver.waits(driver.options_type.model_construct())
