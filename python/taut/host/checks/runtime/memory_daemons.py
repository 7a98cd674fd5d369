"""R31: kernel threads that look through memory all the time (DAMON)."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    not_applicable,
    passed,
)
from taut.host.checks.runtime._cores import verdict
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.shapes import POLLING
from taut.host.situation import Situation
from taut.host.threads import Thread, all_threads, some

_MODULES = ("damon_reclaim", "damon_lru_sort", "damon_stat")
_WANTED = "no kdamond thread, or on housekeeping cores only"


class MemoryDaemons(Check):
    """The multi-generation LRU has no thread of its own: kswapd does its work (R22)."""

    id = "R31"
    title = "memory daemons"
    fault = "Memory daemons may run on poll cores"
    severity = Severity.MAJOR
    why = (
        "kdamond wakes up every few milliseconds to sample pages; where it may run on a poll core "
        "it preempts the poller each time"
    )
    source = "measured by taut's authors; admin-guide/mm/damon"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for the threads: a file that says "on" without one harms nobody."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        daemons = _daemons(host)
        if not daemons:
            return passed("no kdamond thread", _WANTED)
        bad = {core for thread in daemons for core in thread.allowed}
        shown = [f"{thread} may run on {format_cpu_list(thread.allowed)}" for thread in daemons]
        return verdict(bad, situation, some(shown), _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Move them; or switch off what switched them on, where a file says."""
        found = []
        moves = _moves(host, situation)
        if moves:
            found.append(
                Remedy(
                    "R31-now",
                    "move DAMON's threads to housekeeping cores",
                    changes=moves,
                    cost="DAMON shares fewer cores",
                )
            )
        off = _switched_off(host)
        if off:
            found.append(
                Remedy(
                    "R31-now-2",
                    "switch DAMON off",
                    changes=off,
                    profile=Profile.EXTREME,
                    cost="memory it would have reclaimed",
                )
            )
        boot = [
            KernelParameter(f"{name}.enabled", "N") for name in _MODULES if _is_enabled(host, name)
        ]
        if boot:
            found.append(
                Remedy(
                    "R31-boot",
                    "at boot: leave DAMON off",
                    boot=boot,
                    cost="memory it would have reclaimed",
                )
            )
        return tuple(found)


def _daemons(host: Host) -> list[Thread]:
    return [
        thread
        for thread in all_threads(host)
        if thread.is_kernel and thread.comm.startswith("kdamond")
    ]


def _moves(host: Host, situation: Situation) -> list[Change]:
    """Nowhere to go where nobody named the poll cores."""
    if not situation.cores or not situation.housekeeping:
        return []
    wanted = format_cpu_list(situation.housekeeping)
    return [
        Change(ThreadAffinity(thread.tid, thread.comm, thread.start_ticks), wanted)
        for thread in _daemons(host)
        if not thread.is_bound and not set(thread.allowed).isdisjoint(situation.cores)
    ]


def _switched_off(host: Host) -> list[Change]:
    changes = [
        Change(FileSetting(path), "off")
        for path in host.paths("/sys/kernel/mm/damon/admin/kdamonds/*/state")
        if host.read(path) == "on"
    ]
    changes += [
        Change(FileSetting(_enabled(name)), "N") for name in _MODULES if _is_enabled(host, name)
    ]
    return changes


def _is_enabled(host: Host, module: str) -> bool:
    return host.read(_enabled(module)) in ("Y", "1")


def _enabled(module: str) -> str:
    return f"/sys/module/{module}/parameters/enabled"


CHECK = MemoryDaemons()
