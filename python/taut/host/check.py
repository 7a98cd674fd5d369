"""What a check is: it reads a host, judges one thing, and proposes remedies. It never writes.

Rows of the catalogue are made in table.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.host.boot.item import BootItem
from taut.host.host import Host
from taut.host.setting import Change


class State(StrEnum):
    """What a check found; UNKNOWN: the machine did not let taut read what it needs."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    UNKNOWN = "UNKNOWN"


class Severity(IntEnum):
    """What a failure costs the tail at worst; orders the table."""

    CRITICAL = 4  # milliseconds, or numbers that are wrong
    MAJOR = 3  # tens of microseconds and more
    MINOR = 2  # microseconds
    NOTE = 1  # nothing by itself: worth knowing


class Profile(IntEnum):
    """How far a plan goes; each holds the smaller ones."""

    MINIMAL = 1  # large effects that are proven
    RECOMMENDED = 2  # what costs little besides power
    EXTREME = 3  # the last microsecond, whatever it costs


def parse_profile(name: str) -> Profile:
    """Turn a name into a profile."""
    known = {each.name.lower(): each for each in Profile}
    if name not in known:
        raise InputError(f"no profile {name!r}; there are {', '.join(known)}")
    return known[name]


class Rollback(StrEnum):
    """How a remedy is taken back."""

    WRITE_BACK = "write back the old value"
    REBOOT = "remove the parameter and reboot"
    CLOSE = "end the holder"
    NEVER = "not without a reboot"


@dataclass(frozen=True)
class Remedy:
    """What makes a check pass: changes now, items at boot, or words for where taut cannot go."""

    id: str
    """The check's id, and `now`, `boot` or `by-hand`: R06-now."""
    summary: str
    """Imperative: "set vm.stat_interval to 120 s"."""
    changes: Sequence[Change] = ()
    """Made in this order."""
    boot: Sequence[BootItem] = ()
    by_hand: str = ""
    """What a person has to do where taut cannot: "in the BIOS: ...", "on the KVM host: ..."."""
    profile: Profile = Profile.RECOMMENDED
    """The smallest profile that takes it."""
    risk: str = ""
    cost: str = ""
    """What it costs in power, security or throughput."""
    measure: str = ""
    """Names the advice that contradicts this: then it should be measured (`taut host effect`)."""
    by_name: str = ""
    """Why no profile takes it on this machine, though --only does."""
    rollback: Rollback = Rollback.WRITE_BACK
    after: Sequence[str] = ()
    """Ids of remedies that go first."""
    now_by: str = ""
    """Id of the check whose remedy does now what this one does at boot; empty: its own check's."""


@dataclass(frozen=True)
class Finding:
    """What a check saw. UNKNOWN says in `needs` what would be needed to know."""

    state: State
    observed: str
    wanted: str = ""
    needs: str = ""
    cores: CpuSet = ()
    """Cores it concerns; empty: the whole host."""
    severity: Severity | None = None
    """This failure's severity where it is less than the check's; None: the check's."""
    fault: str = ""
    """What is wrong, where that is not the check's usual fault; empty: it is."""


def passed(observed: str, wanted: str = "", cores: CpuSet = ()) -> Finding:
    """Make a finding of a check that passes."""
    return Finding(State.PASS, observed, wanted, cores=cores)


def failed(observed: str, wanted: str, cores: CpuSet = (), fault: str = "") -> Finding:
    """Make a finding of a check that fails; `fault` where it is not the check's usual one."""
    return Finding(State.FAIL, observed, wanted, cores=cores, fault=fault)


def unknown(observed: str, needs: str, wanted: str = "") -> Finding:
    """Make a finding of what cannot be seen; `needs` says what would be needed to see it."""
    return Finding(State.UNKNOWN, observed, wanted, needs)


def not_applicable(why: str) -> Finding:
    """Make a finding where there is nothing to judge on this host or in this role."""
    return Finding(State.NOT_APPLICABLE, why)


def unreadable(host: Host, path: str, wanted: str = "") -> Finding:
    """Make a finding for a file that cannot be read: forbidden, or not on this kernel."""
    if host.is_denied(path):
        return unknown(f"{path}: permission denied", "run as root", wanted)
    return not_applicable(f"no {path} on this kernel")
