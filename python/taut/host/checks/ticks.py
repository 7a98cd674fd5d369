"""Checks of the timer tick, and of timers that come from other cores."""

import re
from collections import Counter
from collections.abc import Iterable

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter, Sysctl
from taut.host.check import Finding, Remedy, State
from taut.host.checks._boot import need_command_line, value
from taut.host.checks._interrupts import COUNTS, timer_ticks
from taut.host.checks._tracing import need_events
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    EXTREME,
    MAJOR,
    MINIMAL,
    MINOR,
    NOTE,
    POLLING,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.view import CPU, NOHZ_FULL, View, named, shown

_MIGRATION = "/proc/sys/kernel/timer_migration"
_TICK_STOP = "timer/tick_stop"
_KEPT = re.compile(r"success=0 dependency=(\S+)")
# Below that the locks that ticks take are hardly ever contended.
_MANY_CORES = 8
# Names of include/trace/events/timer.h.
_KEEPERS = {
    "POSIX_TIMER": "a POSIX CPU timer or RLIMIT_CPU of the program (A08)",
    "PERF_EVENTS": "a perf counter that multiplexes or samples: end it (A08, R27)",
    "SCHED": "more than one runnable thread on the core (R24)",
    "CLOCK_UNSTABLE": "the TSC was found unstable (HW01, HW02)",
    "RCU": "RCU waits for the core: offload its callbacks (K08)",
    "RCU_EXP": "an expedited RCU grace period (K11)",
}


def tickless(see: View) -> Finding:
    """What counts is the kernel's set, and that the tick is gone while the core polls."""
    if not see.situation.polls and see.role is not Role.HOUSEKEEPING:
        see.skip(
            "the tick of a core that sleeps stops by itself; nohz_full would make each "
            "interrupt and system call there dearer"
        )
    inside = see.list_of_cores(NOHZ_FULL)
    if inside is None and (see.read(NOHZ_FULL) or see.list_of_cores(f"{CPU}/online") is None):
        see.odd(NOHZ_FULL)
    observed = f"nohz_full: {shown(inside or ())}"
    if see.role is Role.HOUSEKEEPING:
        return _housekeeping(see, inside or (), observed)
    if inside is None:
        return see.failed("this kernel has no nohz_full (K02)", see.cores)
    finding = see.all_in(inside, observed)
    if finding.state is not State.PASS:
        return finding
    # One more than the seconds: where the watch begins and ends is chance.
    allowed = see.watched.seconds + 1
    ticks = _ticks(see)
    ticking = tuple(core for core in see.cores if ticks.get(core, 0) > allowed)
    if ticking:
        rate = max(ticks[core] for core in ticking) / max(see.watched.seconds, 1)
        observed = f"{observed}; up to {rate:.0f} ticks a second on {named(ticking)}"
        return see.failed(f"{observed} (R29 tells why)", ticking)
    return finding


def stop_the_tick(see: View) -> Iterable[Remedy]:
    """At boot: no kernel changes it later."""
    if see.role is Role.HOUSEKEEPING or not see.can_split:
        return
    if not see.is_there(NOHZ_FULL):
        what = "boot a kernel with NO_HZ_FULL (K02), then nohz_full="
        yield by_hand("boot another kernel", what)
        return
    yield boot(
        f"stop the tick on {named(see.cores)}",
        KernelParameter("nohz_full", cores=see.cores),
        rollback=REBOOT,
        profile=MINIMAL,
        risk="works for one runnable thread per core, without POSIX CPU timers",
        cost="system calls and interrupts on these cores enter the kernel more slowly",
    )
    if set(see.cores) <= set(see.list_of_cores(NOHZ_FULL) or ()):
        what = "leave one runnable thread on each core; R29 names what else keeps the tick"
        yield by_hand("find what keeps the tick", what)


def _housekeeping(see: View, inside: CpuSet, observed: str) -> Finding:
    wanted = "no core in nohz_full where nothing polls"
    if inside:
        return see.failed(observed, inside, wanted, "Housekeeping cores have no timer tick")
    return see.passed(observed, wanted=wanted)


def _ticks(see: View) -> dict[int, int]:
    """Local timer interrupts by core, between the two readings."""
    before, after = (
        timer_ticks(texts.get(COUNTS)) for texts in (see.watched.before, see.watched.after)
    )
    return {core: after[core] - before[core] for core in after if core in before}


def spread(see: View) -> Finding:
    """Cores without a tick do not care."""
    need_command_line(see)
    without = set(see.list_of_cores(NOHZ_FULL) or ())
    if see.role is Role.POLL_CORE and see.cores and set(see.cores) <= without:
        see.skip("no effect: the poll cores do not tick (nohz_full)")
    skew = value(see, "skew_tick")
    ticking = [core for core in see.online if core not in without]
    is_good = skew == "1" or len(ticking) < _MANY_CORES
    return see.good_if(is_good, f"skew_tick={skew or 0}, {len(ticking)} cores tick")


def migration(see: View) -> Finding:
    """To the kernel a polling core is busy; nohz_full cores never get others' timers."""
    observed = f"{_MIGRATION} = {see.choice(_MIGRATION, '0', '1')}"
    if see.read(_MIGRATION) == "0":
        return see.passed(observed)
    without = see.list_of_cores(NOHZ_FULL) or ()
    if see.cores and set(see.cores) <= set(without):
        return see.passed(f"{observed}, nohz_full {format_cpu_list(without)}")
    return see.failed(observed, see.cores)


def keepers(see: View) -> Finding:
    """The kernel says each time it cannot stop the tick, and why."""
    without = see.list_of_cores(NOHZ_FULL) or ()
    cores = tuple(core for core in see.cores or without if core in without)
    if not cores:
        see.skip("no poll core is in nohz_full: the tick stays in any case (K06)")
    need_events(see, (_TICK_STOP,), "with NO_HZ")
    reasons = _reasons(see)
    if reasons:
        kept = [f"core {core}: {why} ({n} times)" for (core, why), n in sorted(reasons.items())]
        return see.failed("; ".join(kept), tuple(sorted({core for core, _ in reasons})))
    return see.passed(f"nothing kept it on {format_cpu_list(cores)} while traced", cores)


def remove_keepers(see: View) -> Iterable[Remedy]:
    """Say what each reason means."""
    if reasons := sorted({reason for _, reason in _reasons(see)}):
        what = (f"{why}: {_KEEPERS.get(why, 'see timers/no_hz.rst')}" for why in reasons)
        yield by_hand("remove what keeps the tick", "; ".join(what))


def _reasons(see: View) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    for event in see.situation.events or ():
        match = _KEPT.search(event.fields) if event.name == "tick_stop" else None
        if match is not None and (not see.cores or event.core in see.cores):
            found[event.core, match[1]] += 1
    return found


_CONTRADICTION = (
    "tuned writes 0, the OpenShift node tuning operator keeps 1: it takes timers away from a "
    "core that starts to poll"
)

CHECKS = (
    Check(
        "K06",
        "no tick on poll cores",
        "Poll cores have a timer tick",
        MAJOR,
        tickless,
        "every poll core in nohz_full, one local timer interrupt a second at most",
        roles=POLLING | {Role.HOUSEKEEPING},
        watches=(COUNTS,),
        remedies=stop_the_tick,
        why="the tick interrupts 100 to 1000 times a second, 22 µs each in a nested guest; without "
        "it tails shrank to a third on hardware and to less than a quarter in a guest",
        source="Ducked Tails (2021); cpu-isolation.rst; kernel-parameters.txt (nohz_full); "
        "measured",
    ),
    Check(
        "K21",
        "ticks are spread",
        "Ticks of all cores come at once",
        NOTE,
        spread,
        f"skew_tick=1 where {_MANY_CORES} cores or more tick",
        roles=BARE | {Role.HOUSEKEEPING},
        remedies=boot(
            "spread the ticks", KernelParameter("skew_tick", "1"), rollback=REBOOT, cost="power"
        ),
        why="ticks that come at once on many cores wait for each other's locks of timekeeping and "
        "RCU; spread ticks do not, but wake the package more often",
        source="kernel-parameters.txt (skew_tick); Ducked Tails (2021); tuned",
    ),
    Check(
        "R11",
        "timer migration",
        "Timers migrate to poll cores",
        MINOR,
        migration,
        "0, or nohz_full polling cores",
        remedies=(
            now(
                f"write 0 to {_MIGRATION}",
                write(_MIGRATION, "0"),
                profile=EXTREME,
                measure=_CONTRADICTION,
                risk="timers already on a polling core stay there",
                # Once it is 0, isolating a core no longer takes its timers away.
                after=("K04-now",),
            ),
            boot(
                "at boot: no timer migration",
                Sysctl("kernel.timer_migration", "0"),
                profile=EXTREME,
                measure=_CONTRADICTION,
            ),
        ),
        why="a timer armed on an idle core may expire on a busy one, and a polling core always is: "
        "an interrupt of microseconds each",
        source="tuned (0); OpenShift node tuning operator (1)",
    ),
    Check(
        "R29",
        "what keeps the tick",
        "Something keeps the tick on poll cores",
        MAJOR,
        keepers,
        "the tick stops: success=1, dependency=NONE",
        traces=(_TICK_STOP,),
        remedies=remove_keepers,
        why="a core of nohz_full that keeps its tick is interrupted 100 to 1000 times a second",
        source="admin-guide/cpu-isolation.rst; timers/no_hz.rst",
    ),
)
