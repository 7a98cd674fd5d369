"""What checks of a KVM host share: the guests that run, their memory, and cores for them."""

import re
from collections.abc import Sequence

from taut.core.cpus import CpuSet
from taut.host.checks._pollers import polled_cores, polling_threads
from taut.host.guests import Guest, guests, options
from taut.host.threads import Thread
from taut.host.view import View

_UNITS_MIB = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_SIZE = re.compile(r"(?:size=)?(\d{1,12})([kmgt]?)b?", re.IGNORECASE)


def pinnings(see: View) -> list[tuple[Thread, int]]:
    """Give each virtual CPU its core; none where the cores are not for guests, or do not suffice.

    Those without a core are foreign on the poll cores, as any other thread.
    """
    if not (see.situation.are_for_guests and see.can_split):
        return []
    virtual = [each for guest in guests(see.host) for each in guest.virtual_cpus]
    # A switch that polls beside the guests has cores of its own.
    polled = polled_cores([each for each in polling_threads(see) if len(each.allowed) == 1])
    free = [core for core in see.cores if core not in polled]
    return list(zip(virtual, free, strict=False)) if len(virtual) <= len(free) else []


def need_guests(see: View) -> list[Guest]:
    """Give the guests that run; CannotJudge: none does."""
    found = guests(see.host)
    if not found:
        see.cannot_tell("no guest runs", "a running guest (as root): start it, audit again", "")
    return found


def need_command_lines(see: View) -> list[Guest]:
    """Give the guests that run; CannotJudge: of one the command line is not QEMU's."""
    found = need_guests(see)
    for guest in found:
        if not guest.is_qemu:
            needs = "the definition of this guest: its monitor is not QEMU, or run as root"
            see.cannot_tell(f"{guest}: no command line of QEMU", needs)
    return found


def memory_mib(guest: Guest) -> int | None:
    """How much memory a guest has by its command line; None where it does not tell."""
    for text in options(guest, "-m"):
        size = next((part for part in text.split(",") if "=" not in part or "size=" in part), "")
        if found := _SIZE.fullmatch(size):
            return int(int(found[1]) * _UNITS_MIB[found[2].lower()])
    return None


def guest_cores(found: Sequence[Guest]) -> CpuSet:
    """Cores that virtual CPUs are pinned to one by one."""
    pinned = {
        each.allowed[0] for guest in found for each in guest.virtual_cpus if len(each.allowed) == 1
    }
    return tuple(sorted(pinned))
