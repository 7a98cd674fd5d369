"""Checks of neighbours: other programs on poll cores, and in their caches."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._guests import pinnings
from taut.host.checks._resctrl import group_poll_cores
from taut.host.checks._threads import move_off, need_all_programs
from taut.host.guests import is_virtual_cpu
from taut.host.situation import Role
from taut.host.table import (
    CRITICAL,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    WITH_CONTAINERS,
    Check,
    boot,
    by_hand,
    now,
    on_the_host,
)
from taut.host.threads import Thread, all_threads, some
from taut.host.view import CPU, NAME_CORES, View

_NEXT = re.compile(r"==> next_comm=(?P<comm>.*) next_pid=(?P<pid>\d+) ")
_RESCTRL = "/sys/fs/resctrl"
_NO_GROUPS = ("info", "mon_groups", "mon_data")


def foreign_threads(see: View) -> Finding:
    """A thread whose cores are all poll cores is meant to poll there; any other is foreign.

    Unless a program that is known to poll has a thread pinned there: then whoever else may run on
    that core is foreign, pinned or not. What was seen to run is named.
    """
    user = _user_threads(see)
    if not user:
        see.cannot_tell("no thread is visible", "a /proc that shows threads")
    if not see.cores:
        return _of_no_cores(see, user)
    seen = [*_allowed(see, user), *_crowded(see, user), *_ran(see, user)]
    if seen:
        return see.failed("; ".join(seen), see.cores)
    cores = format_cpu_list(see.cores)
    observed = f"none of {len(user)} threads may run on {cores} beside a polling one"
    need_all_programs(see, f"{observed}; others are not visible")
    return see.passed(observed, see.cores)


def move_foreign_threads(see: View) -> Iterable[Remedy]:
    """Move the foreign ones; of crowded polling threads only their program can tell."""
    if not see.can_split:
        return
    user = _user_threads(see)
    crowded = _crowded(see, user)
    cost = "all other programs share fewer cores"
    if foreign := _foreign(see, user):
        yield now(
            f"move {len(foreign)} threads off cores {format_cpu_list(see.cores)}",
            *(move_off(see, thread) for thread in foreign),
            risk="; ".join(_risks(see, foreign)),
            cost=cost,
            # No barrier: a program may move its threads back, and what starts later has its
            # parent's cores. Isolation keeps them out.
            after=("K04-now",),
        )
    if foreign or not crowded:
        yield boot(
            "at boot: services start on housekeeping cores",
            KernelParameter("systemd.cpu_affinity", cores=see.housekeeping),
            risk="a service that polls needs its own CPUAffinity=",
            cost=cost,
        )
    if crowded:
        yield by_hand(
            "give each polling thread a core of its own",
            "in the program's options: one core for each thread that polls",
        )


def _risks(see: View, foreign: Sequence[Thread]) -> Iterator[str]:
    n_pinned = sum(set(thread.allowed) <= set(see.cores) for thread in foreign)
    if n_pinned:
        yield f"{n_pinned} of them are pinned there: somebody may want them there"
    n_virtual = sum(map(is_virtual_cpu, foreign))
    if n_virtual and see.situation.are_for_guests:
        yield f"{n_virtual} of them are virtual CPUs, more than poll cores are free for"
    elif n_virtual:
        yield f"{n_virtual} of them are virtual CPUs; --role kvm-host says the cores are for guests"


def _user_threads(see: View) -> list[Thread]:
    """Give all but the virtual CPUs that V01 places."""
    placed = {thread.tid for thread, _ in pinnings(see)}
    threads = all_threads(see.host)
    return [each for each in threads if not each.is_kernel and each.tid not in placed]


def _of_no_cores(see: View, user: list[Thread]) -> Finding:
    everywhere = [str(thread) for thread in user if set(thread.allowed) >= set(see.online)]
    observed = f"{len(everywhere)} of {len(user)} threads may run on every core"
    if everywhere:
        return see.failed(f"{observed}: {some(everywhere)}")
    return see.unknown(observed, NAME_CORES)


def _foreign(see: View, user: list[Thread]) -> list[Thread]:
    """Those of polling programs may be there: A02 judges them."""
    taken = _taken(see, user)
    return [thread for thread in user if _is_foreign(see, thread, taken)]


def _is_foreign(see: View, thread: Thread, taken: Collection[int]) -> bool:
    """`taken`: cores that have a thread of a program that polls."""
    poll, allowed = set(see.cores), set(thread.allowed)
    if thread.is_kernel or thread.pid in see.situation.processes or poll.isdisjoint(allowed):
        return False
    return not allowed <= poll or not allowed.isdisjoint(taken)


def _is_pinned(see: View, thread: Thread) -> bool:
    return len(thread.allowed) == 1 and thread.allowed[0] in see.cores


def _taken(see: View, user: list[Thread]) -> set[int]:
    """Poll cores to which a thread of a program that polls is pinned."""
    polling = (thread for thread in user if thread.pid in see.situation.processes)
    return {thread.allowed[0] for thread in polling if _is_pinned(see, thread)}


def _allowed(see: View, user: list[Thread]) -> list[str]:
    found = [str(thread) for thread in _foreign(see, user)]
    cores = format_cpu_list(see.cores)
    return [f"{len(found)} threads may run on {cores}: {some(found)}"] if found else []


def _crowded(see: View, user: list[Thread]) -> list[str]:
    """Cores to which more than one thread that may be there is pinned."""
    taken = _taken(see, user)
    pinned: dict[int, list[str]] = {}
    for thread in user:
        if _is_pinned(see, thread) and not _is_foreign(see, thread, taken):
            pinned.setdefault(thread.allowed[0], []).append(str(thread))
    return [
        f"core {core} has {len(names)} threads of its own: {some(names)}"
        for core, names in sorted(pinned.items())
        if len(names) > 1
    ]


def _ran(see: View, user: list[Thread]) -> list[str]:
    """Programs that were switched to on a poll core; what is gone is not counted."""
    taken = _taken(see, user)
    threads = {thread.tid: thread for thread in user}
    switches: Counter[tuple[int, str]] = Counter()
    for event in see.situation.events or ():
        match = _NEXT.search(event.fields) if event.name == "sched_switch" else None
        if match is not None and event.core in see.cores:
            switches[int(match["pid"]), match["comm"]] += 1
    count: Counter[str] = Counter()
    for (tid, comm), times in switches.items():
        thread = threads.get(tid)
        if thread is not None and _is_foreign(see, thread, taken):
            count[comm] += times
    said = some([f"{comm} ({times} times)" for comm, times in count.most_common()])
    return [f"ran there while traced: {said}"] if count else []


@dataclass(frozen=True)
class _Group:
    """A group of resctrl; "" is the default one, for everything in no other."""

    name: str
    cores: CpuSet
    ways: dict[int, int]
    """Bitmap of ways, by number of the cache."""


def cache_ways(see: View) -> Finding:
    """Judges the L3 of each core; memory bandwidth is left to whoever knows the neighbours."""
    if see.role is Role.HOUSEKEEPING:
        see.skip("not asked of a housekeeping machine: poll cores have theirs")
    if not see.is_there(f"{_RESCTRL}/schemata"):
        return _without(see)
    groups = list(_groups(see))
    if not groups:
        needs = "run as root, on a kernel and processor with L3 allocation"
        return see.unknown(f"{_RESCTRL}: schemata without L3 ways, or not readable", needs)
    shareable = _hexadecimal(see.read(f"{_RESCTRL}/info/L3/shareable_bits")) or 0
    shared = {core: _shared(see, core, groups, shareable) for core in see.judged}
    observed = "; ".join(f"core {core}: {what}" for core, what in shared.items() if what)
    good = f"cores {format_cpu_list(see.judged)} have ways of their own"
    return see.none_of([core for core, what in shared.items() if what], observed or good)


def allot_ways(see: View) -> Iterable[Remedy]:
    """Make a group where nobody has; mounting resctrl, and groups of others, are theirs to size."""
    steps = (
        f"mount -t resctrl resctrl {_RESCTRL}; mkdir {_RESCTRL}/poll; "
        f"echo {format_cpu_list(see.cores) or 'CORES'} > {_RESCTRL}/poll/cpus_list; "
        "write a mask to poll/schemata (L3:0=...) outside of info/L3/shareable_bits, and the rest "
        "to schemata of the default group"
    )
    if see.role in (Role.KVM_GUEST, Role.CONTAINER):
        return (on_the_host(steps),)
    groups = [name for name in see.names(_RESCTRL) if see.is_there(f"{_RESCTRL}/{name}/cpus_list")]
    if not groups and see.can_split and (made := list(group_poll_cores(see))):
        return made
    cost = "fewer ways for everything else"
    return (by_hand("give the poll cores ways of the L3", steps, profile=EXTREME, cost=cost),)


def _without(see: View) -> Finding:
    """Nothing is mounted: the processor says whether something could be."""
    if "cat_l3" in see.machine.flags:
        return see.failed(f"{_RESCTRL} is not mounted: everybody fills every way", see.cores)
    if not see.is_guest:
        see.skip("the processor has no L3 allocation (cat_l3)")
    return see.unknown("allocation of the L3 is not visible in a guest", "run on the KVM host")


def _groups(see: View) -> Iterator[_Group]:
    names = [name for name in see.names(_RESCTRL) if name not in _NO_GROUPS]
    for name in ("", *names):
        folder = f"{_RESCTRL}/{name}" if name else _RESCTRL
        if ways := _ways(see.read(f"{folder}/schemata") or ""):
            yield _Group(name, see.list_of_cores(f"{folder}/cpus_list") or (), ways)


def _ways(schemata: str) -> dict[int, int]:
    """Read `L3:0=7ff;1=7ff`; with CDP, L3CODE and L3DATA together."""
    found: dict[int, int] = {}
    for line in schemata.splitlines():
        resource, _, domains = line.strip().partition(":")
        for domain in domains.split(";") if resource in ("L3", "L3CODE", "L3DATA") else ():
            cache, _, mask = domain.strip().partition("=")
            bits = _hexadecimal(mask)
            if cache.isdecimal() and bits is not None:
                found[int(cache)] = found.get(int(cache), 0) | bits
    return found


def _shared(see: View, core: int, groups: list[_Group], shareable: int) -> str:
    """Say what a core shares; empty: nothing."""
    own = next((group for group in groups if group.name and core in group.cores), None)
    if own is None:
        return "in the default group, with everything else"
    cache = see.number(f"{CPU}/cpu{core}/cache/index3/id")
    for number in own.ways if cache is None else (cache,):
        ways = own.ways.get(number, 0)
        if ways & shareable:
            return f"ways {ways & shareable:x} of group {own.name} are filled by devices too"
        for other in groups:
            shared = ways & other.ways.get(number, 0)
            if other is not own and shared:
                return f"shares ways {shared:x} with group {other.name or 'default'}"
    return ""


def _hexadecimal(text: str | None) -> int | None:
    try:
        return int(text or "", 16)
    except ValueError:
        return None


CHECKS = (
    Check(
        "R24",
        "other programs on poll cores",
        "Other programs may run on poll cores",
        CRITICAL,
        foreign_threads,
        "one thread for each poll core, and no other thread allowed there",
        roles=WITH_CONTAINERS,
        traces=("sched/sched_switch",),
        remedies=move_foreign_threads,
        why="a thread that becomes runnable there takes a whole time slice: 4 ms each, 340 times "
        "in 5 s from one busy neighbour",
        source="measured by taut's authors; tuned [systemd]; OpenShift node tuning operator",
    ),
    Check(
        "R25",
        "cache allocation",
        "Neighbours share the poller's cache",
        MAJOR,
        cache_ways,
        "ways of the L3 that no other group and no device may fill",
        roles=EVERYWHERE,
        remedies=allot_ways,
        why="neighbours and devices (DDIO) evict the poller's tables: each miss costs about 100 "
        "ns, a burst of them tens of microseconds",
        source="Gallenmueller et al., Ducked Tails (2021); filesystems/resctrl.rst",
    ),
)
