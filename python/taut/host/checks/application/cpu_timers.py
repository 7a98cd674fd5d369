"""A08: timers and counters of a polling program that keep the tick alive."""

import re
from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks._holders import holders
from taut.host.checks.application._pollers import (
    no_process,
    polled_cores,
    polling_threads,
)
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "no POSIX CPU timer, itimer, CPU limit or perf counter"
_CLOCK = re.compile(r"ClockID:\s*(-?\d+)")
# CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID; negative: of a given process or thread.
_CPU_CLOCKS = (2, 3)
_KEPT = re.compile(r"success=0 dependency=(POSIX_TIMER|PERF_EVENTS)")
# Of ITIMER_VIRTUAL and ITIMER_PROF: nothing tells of the timers, whoever arms one takes these.
_ALARMS = {26: "SIGVTALRM", 27: "SIGPROF"}


class CpuTimers(Check):
    """A profiler of the program does all of this."""

    id = "A08"
    title = "timers that keep the tick"
    fault = "A program's timers keep the tick"
    severity = Severity.MAJOR
    why = (
        "a timer that counts CPU time, or a pinned perf counter, needs the tick: a nohz_full core "
        "gets its 100 to 1000 interrupts a second back"
    )
    source = "admin-guide/cpu-isolation.rst; proc(5)"
    traces = ("timer/tick_stop",)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look at timers, limits, descriptors, and what the kernel said."""
        found = no_process(host, situation)
        if found is not None:
            return found
        kept = [*_traced(host, situation), *_counters(host, situation)]
        for pid in situation.processes:
            kept += [*_timers(host, pid), *_limit(host, pid)]
        if kept:
            return failed(some(kept), _WANTED, situation.cores)
        for pid in situation.processes:
            if host.read(f"/proc/{pid}/timers") is None and situation.events is None:
                return _unseen(host, pid)
            alarms = _alarms(host, pid)
            if alarms and situation.events is None:
                return unknown(
                    f"process {pid} takes {' and '.join(alarms)}: it may have an itimer",
                    "--trace, on a core of nohz_full",
                    _WANTED,
                )
        return passed("none", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program, or whoever profiles it."""
        return (
            Remedy(
                "A08-by-hand",
                "end the timers and counters",
                by_hand="no profiler on the program while it serves; `ulimit -t unlimited`; in the "
                "program: timers of CLOCK_MONOTONIC instead of CPU time",
            ),
        )


def _timers(host: Host, pid: int) -> list[str]:
    clocks = map(int, _CLOCK.findall(host.read(f"/proc/{pid}/timers") or ""))
    count = sum(clock in _CPU_CLOCKS or clock < 0 for clock in clocks)
    return [f"process {pid}: {count} POSIX CPU timers"] if count else []


def _limit(host: Host, pid: int) -> list[str]:
    """`Max cpu time  unlimited  unlimited  seconds`: the kernel times a limit like a timer."""
    for line in (host.read(f"/proc/{pid}/limits") or "").splitlines():
        words = line.removeprefix("Max cpu time").split()
        if line.startswith("Max cpu time") and words and words[0] != "unlimited":
            return [f"process {pid}: limited to {words[0]} s of CPU time"]
    return []


def _counters(host: Host, situation: Situation) -> list[str]:
    """Who counts whom is not shown: a program that holds counters may count itself."""
    names = {f"({pid})" for pid in situation.processes}
    found = holders(host, lambda target: "[perf_event]" in target)
    return [f"perf counters of {name}" for name in found if name.rpartition(" ")[2] in names]


def _traced(host: Host, situation: Situation) -> list[str]:
    cores = polled_cores(polling_threads(host, situation))
    kept = {
        f"core {event.core}: {match[1]} keeps the tick"
        for event in situation.events or ()
        if event.name == "tick_stop" and event.core in cores
        if (match := _KEPT.search(event.fields)) is not None
    }
    return sorted(kept)


def _alarms(host: Host, pid: int) -> list[str]:
    try:
        caught = int(host.fields(f"/proc/{pid}/status").get("SigCgt", ""), 16)
    except ValueError:
        return []
    return [name for number, name in _ALARMS.items() if caught >> (number - 1) & 1]


def _unseen(host: Host, pid: int) -> Finding:
    path = f"/proc/{pid}/timers"
    if host.is_denied(path):
        return unknown(f"{path}: permission denied", "run as root", _WANTED)
    return unknown(f"no {path}", "a kernel with CHECKPOINT_RESTORE, or --trace", _WANTED)


CHECK = CpuTimers()
