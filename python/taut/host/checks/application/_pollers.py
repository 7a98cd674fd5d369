"""The threads that poll: what the checks of this group judge."""

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding, not_applicable, unknown
from taut.host.host import Host
from taut.host.situation import Role, Situation
from taut.host.threads import Thread, some, threads_of

NOT_WATCHED = "watch a while: --watch 5s"
EVERY_ROLE = frozenset({Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST, Role.CONTAINER})
"""Where something may poll."""
NOT_HOST = EVERY_ROLE - {Role.KVM_HOST}
"""B, G and C: on a KVM host, what polls are virtual CPUs (V01, V02)."""


def polling_threads(host: Host, situation: Situation) -> list[Thread]:
    """Threads whose cores are poll cores; where nobody named any, that have one core."""
    poll = set(situation.cores)
    return [
        thread
        for pid in situation.processes
        for thread in threads_of(host, pid)
        if (poll.issuperset(thread.allowed) if poll else len(thread.allowed) == 1)
    ]


def polled_cores(threads: list[Thread]) -> CpuSet:
    """Cores that such threads have."""
    return tuple(sorted({core for thread in threads for core in thread.allowed}))


def no_process(
    host: Host, situation: Situation, roles: frozenset[Role] = EVERY_ROLE
) -> Finding | None:
    """Say why there is no process to judge; None: there is one."""
    if situation.role not in roles:
        return not_applicable(f"not asked of a {situation.role}")
    if not situation.processes:
        return not_applicable("no polling process named or found")
    if not any(list(threads_of(host, pid)) for pid in situation.processes):
        return unknown(f"{_named(situation)}: gone, or not visible", "a program that runs")
    return None


def no_poller(
    host: Host, situation: Situation, roles: frozenset[Role] = EVERY_ROLE
) -> Finding | None:
    """Say why there is no polling thread to judge; None: there is one."""
    found = no_process(host, situation, roles)
    if found is not None or polling_threads(host, situation):
        return found
    where = f"cores {format_cpu_list(situation.cores)}" if situation.cores else "one core"
    return not_applicable(f"no thread of {_named(situation)} is pinned to {where} (A02)")


def both(situation: Situation, thread: Thread, name: str) -> tuple[str, str] | None:
    """Give a thread's file before and after; None where one of them is missing."""
    path = f"/proc/{thread.pid}/task/{thread.tid}/{name}"
    before, after = situation.watched.before.get(path), situation.watched.after.get(path)
    return None if before is None or after is None else (before, after)


def _named(situation: Situation) -> str:
    return f"process {some([str(pid) for pid in situation.processes])}"
