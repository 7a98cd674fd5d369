"""What checks of the kernel share: roles, sets of cores, remedies at boot."""

import re
from abc import ABC, abstractmethod

from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_mask
from taut.host.boot.item import BootItem
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Rollback,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation

CPU = "/sys/devices/system/cpu"
NAME_THE_CORES = "name the poll cores: --cores LIST"

# Five digits bound a core's number: a range without an end would not fit into memory.
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8})*")


class RoleCheck(Check, ABC):
    """Judges in some roles; in the others there is nothing to ask."""

    roles: frozenset[Role] = POLLING

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge, if the role is one of ours."""
        if situation.role not in self.roles:
            return not_applicable(f"not asked of a {situation.role}")
        return self.judge(host, situation)

    @abstractmethod
    def judge(self, host: Host, situation: Situation) -> Finding:
        """Judge."""


def core_mask(text: str | None) -> CpuSet | None:
    """Read a mask of cores; None where it is none."""
    return parse_cpu_mask(text) if text is not None and _MASK.fullmatch(text) else None


def shown(cores: CpuSet) -> str:
    """Write cores for people."""
    return format_cpu_list(cores) or "none"


def named(cores: CpuSet) -> str:
    """Write them within a sentence: core 2, cores 2-3."""
    return f"core{'' if len(cores) == 1 else 's'} {shown(cores)}"


def unread(host: Host, path: str, wanted: str) -> Finding:
    """For a file whose content is missing, or means nothing to us."""
    text = host.read(path)
    if text is None:
        return unreadable(host, path, wanted)
    return unknown(f"{path}: {text[:60]!r}", "a kernel whose format taut knows", wanted)


def judge_inside(situation: Situation, inside: CpuSet, observed: str, wanted: str) -> Finding:
    """Every poll core shall be in a set."""
    if not situation.cores:
        # None inside is wrong whichever cores poll.
        return unknown(observed, NAME_THE_CORES, wanted) if inside else failed(observed, wanted)
    missing = tuple(core for core in situation.cores if core not in inside)
    if missing:
        return failed(f"{observed}; {named(missing)} not in it", wanted, missing)
    return passed(observed, wanted, situation.cores)


def judge_outside(situation: Situation, taken: CpuSet, observed: str, wanted: str) -> Finding:
    """No poll core shall be in a set."""
    if not situation.cores:
        # All cores are wrong whichever of them poll.
        if situation.online and set(situation.online) <= set(taken):
            return failed(observed, wanted)
        return unknown(observed, NAME_THE_CORES, wanted)
    hit = tuple(core for core in situation.cores if core in taken)
    if hit:
        return failed(f"{observed}; {named(hit)} in it", wanted, hit)
    return passed(observed, wanted, situation.cores)


def can_split(situation: Situation) -> bool:
    """Whether there are cores that poll and others that do the rest."""
    return bool(situation.cores and situation.housekeeping)


def at_boot(
    check_id: str,
    summary: str,
    *items: BootItem,
    profile: Profile = Profile.RECOMMENDED,
    risk: str = "",
    cost: str = "",
    measure: str = "",
) -> Remedy:
    """Give what is asked for on the kernel's command line, or early at boot."""
    return Remedy(
        f"{check_id}-boot",
        summary,
        boot=items,
        profile=profile,
        risk=risk,
        cost=cost,
        measure=measure,
        rollback=Rollback.REBOOT,
    )


def by_hand(check_id: str, summary: str, what: str) -> Remedy:
    """Give what taut cannot do itself."""
    return Remedy(f"{check_id}-by-hand", summary, by_hand=what)
