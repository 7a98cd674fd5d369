"""R08: kernel work that is bound to a polling core."""

import re
from collections import Counter
from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
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
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_EVENT = "workqueue_execute_start"
# kworker/u8:1 is an unbound one: R07's.
_UNBOUND = re.compile(r"kworker/u")
_SHOWN = 5
_NEEDS = "--trace, as root, with tracefs mounted on /sys/kernel/tracing"
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")


class BoundWork(Check):
    """What queues it names who to silence: no mask keeps it away."""

    id = "R08"
    title = "work bound to polling cores"
    fault = "Kernel work is bound to poll cores"
    severity = Severity.MAJOR
    why = (
        "drivers, file systems and cgroups queue work on the core they run on or on every core: "
        "a kworker preempts the poller for tens of microseconds, and no mask prevents it"
    )
    source = "kernel-per-CPU-kthreads.rst; perf-kwork"
    traces = (f"workqueue/{_EVENT}",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Count by function."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        wanted = "none"
        if situation.events is None:
            return unknown("work on the cores: not traced", _NEEDS, wanted)
        if not situation.cores:
            return unknown("work on the cores", NAME_CORES, wanted)
        if _is_lacking(host):
            return unknown("work on the cores", f"a kernel with the event {_EVENT}", wanted)
        functions: Counter[str] = Counter()
        cores = set()
        for event in situation.events:
            is_bound = event.name == _EVENT and not _UNBOUND.match(event.comm)
            if is_bound and event.core in situation.cores:
                functions[_function(event.fields)] += 1
                cores.add(event.core)
        seconds = situation.watched.seconds
        if not functions:
            return passed(f"none in {seconds:.0f} s", wanted, situation.cores)
        said = [f"{name} {n} times" for name, n in functions.most_common(_SHOWN)]
        more = f" and {len(functions) - _SHOWN} more" if len(functions) > _SHOWN else ""
        where = format_cpu_list(cores)
        observed = f"in {seconds:.0f} s on core {where}: {', '.join(said)}{more}"
        return failed(observed, wanted, tuple(sorted(cores)))

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only the source can be stopped."""
        return (
            Remedy(
                "R08-by-hand",
                "stop what queues the work",
                by_hand="each function belongs to a driver, file system or cgroup operation: "
                "stop using it, or run what calls it on a housekeeping core (perf kwork names it)",
            ),
        )


def _is_lacking(host: Host) -> bool:
    """Whether this kernel traces, but not that; what is not recorded looks like nothing."""
    folders = [f"{folder}/events" for folder in _TRACEFS if host.is_there(f"{folder}/events")]
    return bool(folders) and not host.is_there(f"{folders[0]}/workqueue/{_EVENT}")


def _function(fields: str) -> str:
    """`work struct 00000000a1b2c3d4: function vmstat_update`."""
    found = re.search(r"function[ =](\S+)", fields)
    return found[1] if found else "an unnamed function"


CHECK = BoundWork()
