"""A02: whether each polling thread has a core to itself."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import Check, Finding, Remedy, Severity, failed, passed
from taut.host.checks.application._pollers import NOT_HOST, no_process, polling_threads
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.situation import Situation
from taut.host.threads import Thread, some, threads_of

_WANTED = "one thread for each poll core, pinned to it; the program's other threads elsewhere"


class ThreadPinning(Check):
    """On isolated cores the scheduler spreads nothing: threads stay where they started."""

    id = "A02"
    title = "one polling thread for each core"
    fault = "Polling threads do not have a core each"
    severity = Severity.CRITICAL
    why = (
        "the scheduler does not balance isolated cores: threads that may use several pile up on "
        "the first, and take turns of milliseconds"
    )
    source = "admin-guide/cpu-isolation.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the cores each thread may run on."""
        found = no_process(host, situation, NOT_HOST)
        if found is not None:
            return found
        pollers = polling_threads(host, situation)
        if not pollers:
            where = format_cpu_list(situation.cores) if situation.cores else "one core"
            return failed(f"no thread is pinned to {where}", _WANTED, situation.cores)
        wrong = [*_wide(pollers), *_shared(pollers), *_strays(host, situation)]
        if wrong:
            return failed(some(wrong), _WANTED, situation.cores)
        shown = [f"{thread} on {thread.allowed[0]}" for thread in pollers]
        return passed(some(shown), _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Pin what has a free core; the rest is for who knows what each thread does."""
        changes = _pinned(polling_threads(host, situation), situation)
        found = []
        if changes:
            found.append(
                Remedy(
                    "A02-now",
                    f"pin {len(changes)} polling threads to a core each",
                    changes=changes,
                    risk="lasts until the program ends: say it in its own options too",
                )
            )
        found.append(
            Remedy(
                "A02-by-hand",
                "let the program pin its threads",
                by_hand="in the program's options (DPDK: --lcores): one poll core for each thread "
                "that polls, housekeeping cores for all others",
            )
        )
        return tuple(found)


def _wide(pollers: list[Thread]) -> list[str]:
    return [
        f"{thread} may use {format_cpu_list(thread.allowed)}"
        for thread in pollers
        if len(thread.allowed) > 1
    ]


def _shared(pollers: list[Thread]) -> list[str]:
    by_core: dict[int, list[str]] = {}
    for thread in pollers:
        if len(thread.allowed) == 1:
            by_core.setdefault(thread.allowed[0], []).append(str(thread))
    return [
        f"core {core} is shared by {some(names)}"
        for core, names in sorted(by_core.items())
        if len(names) > 1
    ]


def _strays(host: Host, situation: Situation) -> list[str]:
    """Threads of the program that are no pollers, and may run on a poll core."""
    poll = set(situation.cores)
    return [
        f"{thread} may run on {format_cpu_list(thread.allowed)}"
        for pid in situation.processes
        for thread in threads_of(host, pid)
        if not poll.isdisjoint(thread.allowed) and not poll.issuperset(thread.allowed)
    ]


def _pinned(pollers: list[Thread], situation: Situation) -> list[Change]:
    """Where it runs now if nobody else has that core; else any that is free."""
    taken = {thread.allowed[0] for thread in pollers if len(thread.allowed) == 1}
    free = [core for core in situation.cores if core not in taken]
    changes = []
    for thread in pollers:
        own = [core for core in free if core in thread.allowed]
        if len(thread.allowed) > 1 and own:
            core = thread.last_core if thread.last_core in own else own[0]
            free.remove(core)
            setting = ThreadAffinity(thread.tid, thread.comm, thread.start_ticks)
            changes.append(Change(setting, str(core)))
    return changes


CHECK = ThreadPinning()
