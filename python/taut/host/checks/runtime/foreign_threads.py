"""R24: programs that may run on poll cores beside the one that polls."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.runtime._cores import NAME_CORES
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation
from taut.host.threads import Thread, all_threads, read_thread, some

_WANTED = "one thread for each poll core, and no other thread allowed there"
_NEXT = re.compile(r"==> next_comm=(?P<comm>.*) next_pid=(?P<pid>\d+) ")


class ForeignThreads(Check):
    """A thread whose cores are all poll cores is meant to poll there; any other is foreign.

    Unless a program that is known to poll has a thread pinned there: then whoever else may run on
    that core is foreign, pinned or not.
    """

    id = "R24"
    title = "other programs on poll cores"
    fault = "Other programs may run on poll cores"
    severity = Severity.CRITICAL
    why = (
        "a thread that becomes runnable there takes a whole time slice: 4 ms each, 340 times in "
        "5 s from one busy neighbour"
    )
    source = "measured by taut's authors; tuned [systemd]; OpenShift node tuning operator"
    traces = ("sched/sched_switch",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the cores each thread may run on; name what was seen to run."""
        if situation.role not in POLLING | {Role.CONTAINER}:
            return not_applicable(f"not asked of a {situation.role}")
        user = [thread for thread in all_threads(host) if not thread.is_kernel]
        if not user:
            return unknown("no thread is visible", "a /proc that shows threads", _WANTED)
        if not situation.cores:
            return _of_no_cores(user, situation)
        seen = [
            *_allowed(user, situation),
            *_crowded(user, situation),
            *_ran(host, user, situation),
        ]
        if seen:
            return failed("; ".join(seen), _WANTED, situation.cores)
        cores = format_cpu_list(situation.cores)
        observed = f"none of {len(user)} threads may run on {cores} beside a polling one"
        if situation.role is Role.CONTAINER:
            return unknown(
                f"{observed}; those outside of the container are not visible",
                "run on the host",
                _WANTED,
            )
        return passed(observed, _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Move the foreign ones; of crowded polling threads only their program can tell."""
        if not situation.cores or not situation.housekeeping:
            return ()
        cores = format_cpu_list(situation.cores)
        user = [thread for thread in all_threads(host) if not thread.is_kernel]
        foreign = _foreign(user, situation)
        changes = [_moved(thread, situation) for thread in foreign]
        n_pinned = sum(set(thread.allowed) <= set(situation.cores) for thread in foreign)
        found = []
        cost = "all other programs share fewer cores"
        if changes:
            found += [
                Remedy(
                    "R24-now",
                    f"move {len(changes)} threads off cores {cores}",
                    changes=changes,
                    risk=f"{n_pinned} of them are pinned there: somebody may want them there"
                    if n_pinned
                    else "",
                    cost=cost,
                    # No barrier: a program may move its threads back, and what starts later has
                    # its parent's cores. Isolation keeps them out.
                    after=("K04-now",),
                ),
                Remedy(
                    "R24-boot",
                    "at boot: services start on housekeeping cores",
                    boot=(KernelParameter("systemd.cpu_affinity", cores=situation.housekeeping),),
                    risk="a service that polls needs its own CPUAffinity=",
                    cost=cost,
                ),
            ]
        if _crowded(user, situation):
            found.append(
                Remedy(
                    "R24-by-hand",
                    "give each polling thread a core of its own",
                    by_hand="in the program's options: one core for each thread that polls",
                )
            )
        return tuple(found)


def _of_no_cores(user: list[Thread], situation: Situation) -> Finding:
    everywhere = [str(thread) for thread in user if set(thread.allowed) >= set(situation.online)]
    observed = f"{len(everywhere)} of {len(user)} threads may run on every core"
    if everywhere:
        return failed(f"{observed}: {some(everywhere)}", _WANTED)
    return unknown(observed, NAME_CORES, _WANTED)


def _foreign(user: list[Thread], situation: Situation) -> list[Thread]:
    """Those of polling programs may be there: A02 judges them."""
    taken = _taken(user, situation)
    return [thread for thread in user if _is_foreign(thread, taken, situation)]


def _is_foreign(thread: Thread, taken: Collection[int], situation: Situation) -> bool:
    """`taken`: cores that have a thread of a program that polls."""
    poll, allowed = set(situation.cores), set(thread.allowed)
    if thread.is_kernel or thread.pid in situation.processes or poll.isdisjoint(allowed):
        return False
    return not allowed <= poll or not allowed.isdisjoint(taken)


def _taken(user: list[Thread], situation: Situation) -> set[int]:
    """Poll cores to which a thread of a program that polls is pinned."""
    return {
        thread.allowed[0]
        for thread in user
        if thread.pid in situation.processes
        and len(thread.allowed) == 1
        and thread.allowed[0] in situation.cores
    }


def _allowed(user: list[Thread], situation: Situation) -> list[str]:
    found = [str(thread) for thread in _foreign(user, situation)]
    cores = format_cpu_list(situation.cores)
    return [f"{len(found)} threads may run on {cores}: {some(found)}"] if found else []


def _crowded(user: list[Thread], situation: Situation) -> list[str]:
    """Cores to which more than one thread that may be there is pinned."""
    taken = _taken(user, situation)
    pinned: dict[int, list[str]] = {}
    for thread in user:
        if _is_foreign(thread, taken, situation):
            continue
        if len(thread.allowed) == 1 and thread.allowed[0] in situation.cores:
            pinned.setdefault(thread.allowed[0], []).append(str(thread))
    return [
        f"core {core} has {len(names)} threads of its own: {some(names)}"
        for core, names in sorted(pinned.items())
        if len(names) > 1
    ]


def _ran(host: Host, user: list[Thread], situation: Situation) -> list[str]:
    """Programs that were switched to on a poll core."""
    taken = _taken(user, situation)
    switches: Counter[tuple[int, str]] = Counter()
    for event in situation.events or ():
        match = _NEXT.search(event.fields) if event.name == "sched_switch" else None
        if match is not None and event.core in situation.cores:
            switches[int(match["pid"]), match["comm"]] += 1
    count: Counter[str] = Counter()
    for (tid, comm), times in switches.items():
        thread = _of_switch(host, tid)
        if thread is not None and _is_foreign(thread, taken, situation):
            count[comm] += times
    if not count:
        return []
    return [
        "ran there while traced: "
        + some([f"{comm} ({times} times)" for comm, times in count.most_common()])
    ]


def _of_switch(host: Host, tid: int) -> Thread | None:
    """Idle is 0; a thread that is gone is not counted: nothing tells whose it was."""
    status = host.fields(f"/proc/{tid}/status") if tid else {}
    group = status.get("Tgid", str(tid))
    return read_thread(host, int(group), tid) if tid and group.isdecimal() else None


def _moved(thread: Thread, situation: Situation) -> Change:
    left = [core for core in thread.allowed if core in situation.housekeeping]
    wanted = format_cpu_list(left or situation.housekeeping)
    return Change(ThreadAffinity(thread.tid, thread.comm, thread.start_ticks), wanted)


CHECK = ForeignThreads()
