"""R29: what keeps the tick on cores that shall have none."""

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
)
from taut.host.checks._tracing import unseen
from taut.host.checks.runtime._cores import cores_of_list
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_WANTED = "the tick stops: success=1, dependency=NONE"
_KEPT = re.compile(r"success=0 dependency=(\S+)")

# Names of include/trace/events/timer.h.
_HELP = {
    "POSIX_TIMER": "a POSIX CPU timer or RLIMIT_CPU of the program (A08)",
    "PERF_EVENTS": "a perf counter that multiplexes or samples: end it (A08, R27)",
    "SCHED": "more than one runnable thread on the core (R24)",
    "CLOCK_UNSTABLE": "the TSC was found unstable (HW01, HW02)",
    "RCU": "RCU waits for the core: offload its callbacks (K08)",
    "RCU_EXP": "an expedited RCU grace period (K11)",
}


class TickReason(Check):
    """The kernel says each time it cannot stop the tick, and why."""

    id = "R29"
    title = "what keeps the tick"
    fault = "Something keeps the tick on poll cores"
    severity = Severity.MAJOR
    why = "a core of nohz_full that keeps its tick is interrupted 100 to 1000 times a second"
    source = "admin-guide/cpu-isolation.rst; timers/no_hz.rst"
    traces = ("timer/tick_stop",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Read the reasons on cores of nohz_full."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        tickless = cores_of_list(host.read(_NOHZ_FULL)) or ()
        cores = tuple(core for core in situation.cores or tickless if core in tickless)
        if not cores:
            return not_applicable("no poll core is in nohz_full: the tick stays in any case (K06)")
        cannot = unseen(host, situation, tuple(self.traces), "with NO_HZ")
        if cannot is not None:
            return cannot
        count = _reasons(situation)
        kept = [f"core {core}: {why} ({n} times)" for (core, why), n in sorted(count.items())]
        if kept:
            bad = tuple(sorted({core for core, _ in count}))
            return failed("; ".join(kept), _WANTED, bad)
        observed = f"nothing kept it on {format_cpu_list(cores)} while traced"
        return passed(observed, _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Say what each reason means."""
        reasons = sorted({reason for _, reason in _reasons(situation)})
        if not reasons:
            return ()
        return (
            Remedy(
                "R29-by-hand",
                "remove what keeps the tick",
                by_hand="; ".join(
                    f"{why}: {_HELP.get(why, 'see timers/no_hz.rst')}" for why in reasons
                ),
            ),
        )


def _reasons(situation: Situation) -> Counter[tuple[int, str]]:
    count: Counter[tuple[int, str]] = Counter()
    for event in situation.events or ():
        match = _KEPT.search(event.fields) if event.name == "tick_stop" else None
        if match is not None and (not situation.cores or event.core in situation.cores):
            count[event.core, match[1]] += 1
    return count


CHECK = TickReason()
