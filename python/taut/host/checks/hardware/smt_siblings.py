"""HW03: whether another thread runs on a poll core's execution units."""

from collections.abc import Mapping, Sequence

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks._isolated import isolated
from taut.host.checks.hardware._shape import hidden, is_guest, not_asked
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_CPU = "/sys/devices/system/cpu"
_ACTIVE = f"{_CPU}/smt/active"
_STAT = "/proc/stat"
_ROLES = (Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST, Role.CONTAINER)
_WANTED = "SMT off, or the siblings of poll cores offline, or isolated and idle"
_IDLE = 0.01
"""Of its time a sibling may be busy: the kernel's own housekeeping."""


class _Siblings(Check):
    id = "HW03"
    title = "SMT siblings"
    fault = "SMT siblings of poll cores are online"
    severity = Severity.MAJOR
    why = (
        "the sibling thread shares caches and execution units: contention for them slows the "
        "poller in a way that no tracepoint shows"
    )
    source = "Gallenmueller et al., Ducked Tails (2021); cpu-isolation.rst; kernel-parameters.txt"
    watches = (_STAT,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for siblings that are online, and at what they do."""
        if (finding := not_asked(situation, _ROLES)) is not None:
            return finding
        active = host.read(_ACTIVE)
        if is_guest(situation):
            return hidden("SMT siblings" if active is None else f"smt/active = {active}", _WANTED)
        if active == "0":
            return passed("SMT is off", _WANTED)
        judged = situation.cores or situation.online
        siblings = {core: _siblings(host, core) for core in judged}
        if not siblings or None in siblings.values():
            return _unreadable(host, active)
        shared = {core: others for core, others in siblings.items() if others}
        if not shared:
            return passed("no core has a sibling that is online", _WANTED)
        if not situation.cores:
            return unknown(
                f"SMT is on: cores {format_cpu_list(shared)} have siblings",
                "name the poll cores with --cores",
                _WANTED,
            )
        return _judge(host, situation, shared)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Take the siblings offline; the other cores keep theirs."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "take the siblings of the poll cores offline"),)
        others = {
            sibling
            for core in situation.cores
            for sibling in _siblings(host, core) or ()
            if sibling not in situation.cores
        }
        cores = tuple(sorted(others))
        paths = [f"{_CPU}/cpu{core}/online" for core in cores]
        leaves_some = set(situation.housekeeping) - others
        if not paths or not leaves_some or not all(host.is_there(path) for path in paths):
            return (_by_hand(),)
        summary = f"take cores {format_cpu_list(cores)} offline, siblings of poll cores"
        cost = "20 to 30 % of what both threads of such a core do together"
        risk = (
            "interrupts, threads and version 1 cpusets leave a core that goes offline, and do not "
            "all come back with it"
        )
        changes = [Change(FileSetting(path, "number"), "0") for path in paths]
        boot = [SysfsValue(path, "0") for path in paths]
        return (
            Remedy("HW03-now", summary, changes=changes, risk=risk, cost=cost),
            Remedy("HW03-boot", summary, boot=boot, cost=cost),
        )


def _judge(host: Host, situation: Situation, shared: Mapping[int, CpuSet | None]) -> Finding:
    alone = isolated(host)
    set_apart = alone.cores if alone else ()
    bad, unsure, hit = [], [], []
    for core, others in shared.items():
        for other in others or ():
            busy = _busy(situation, other)
            if other in situation.cores:
                bad.append(f"{core} and {other} both poll")
            elif other not in set_apart:
                bad.append(f"{other}, sibling of {core}, is not isolated")
            elif busy is None:
                unsure.append(other)
                continue
            elif busy > _IDLE:
                bad.append(f"{other}, sibling of {core}, is busy {100 * busy:.0f} % of the time")
            else:
                continue
            hit.append(core)
    if bad:
        return failed("; ".join(bad), _WANTED, tuple(dict.fromkeys(hit)))
    if unsure:
        return unknown(
            f"siblings {format_cpu_list(unsure)} are isolated; idle or not was not watched",
            "watch a while: --watch 5s",
            _WANTED,
        )
    return passed("siblings of poll cores are isolated and idle", _WANTED, tuple(shared))


def _siblings(host: Host, core: int) -> CpuSet | None:
    """Other threads of a core that run; None: the machine does not tell."""
    found = cores_in(host.read(f"{_CPU}/cpu{core}/topology/thread_siblings_list"))
    if not found:
        return None
    return tuple(
        other for other in found if other != core and host.read(f"{_CPU}/cpu{other}/online") != "0"
    )


def _busy(situation: Situation, core: int) -> float | None:
    before = _times(situation.watched.before.get(_STAT, ""), core)
    after = _times(situation.watched.after.get(_STAT, ""), core)
    if before is None or after is None or sum(after) <= sum(before):
        return None
    # Columns 4 and 5 are idle and waiting for I/O (proc(5)).
    idle = sum(after[3:5]) - sum(before[3:5])
    return 1 - idle / (sum(after) - sum(before))


def _times(text: str, core: int) -> list[int] | None:
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        words = rest.split()[:8]
        if name == f"cpu{core}" and len(words) == 8 and all(word.isdecimal() for word in words):
            return [int(word) for word in words]
    return None


def _unreadable(host: Host, active: str | None) -> Finding:
    if active is None:
        return unreadable(host, _ACTIVE, _WANTED)
    return unknown(
        f"{_ACTIVE}: {active[:60]!r}, and no list of siblings",
        f"{_CPU}/cpuN/topology/thread_siblings_list",
        _WANTED,
    )


def _by_hand() -> Remedy:
    return Remedy(
        "HW03-by-hand",
        "poll on one thread of a core only",
        by_hand="choose --cores so that no two are siblings and none is the sibling of the last "
        "housekeeping core; or switch SMT off: echo off > /sys/devices/system/cpu/smt/control, "
        "nosmt at boot, or in the BIOS",
    )


CHECK = _Siblings()
