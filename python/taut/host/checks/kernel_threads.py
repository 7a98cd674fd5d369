"""Checks of the kernel's own threads: where they run, and how strong they are."""

from collections.abc import Iterable

from taut.core.cpus import cores_in, format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import boot_lines, booted_with, parameters
from taut.host.checks._threads import (
    KERNEL_THREADS,
    REAL_TIME,
    kernel_threads,
    move,
    move_off,
    need_kernel_threads,
    set_priority,
)
from taut.host.setting import Change
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    CRITICAL,
    EXTREME,
    MAJOR,
    MINOR,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.threads import Thread, all_threads, some
from taut.host.view import NOHZ_FULL, View, shown

_PRESSURE = "/proc/pressure"
_DAMON = ("damon_reclaim", "damon_lru_sort", "damon_stat")
# tuned's realtime-virtual-host; OpenShift's profiles take 11 for all three.
_LEAST = {"rcuc": 4, "ktimers": 2, "ksoftirqd": 2}


def new_threads(see: View) -> Finding:
    """kthread_cpus= is a patch of some distributions; nohz_full= does the same on any kernel.

    Each new thread gets what these two leave, not the cores of kthreadd, which may have been moved.
    """
    asked = parameters(see, "kthread_cpus")
    ignored = boot_lines(see, "Unknown kernel command line parameters")
    if asked and any("kthread_cpus" in line for line in ignored):
        wanted = f"{see.wanted}, by nohz_full= (K06)"
        return see.failed(f"{asked[-1].text}: this kernel ignores it", wanted=wanted)
    mothers = [thread for thread in kernel_threads(see, "kthreadd") if thread.pid == 2]
    if not mothers:
        return see.unknown("kthreadd is not visible", KERNEL_THREADS)
    cores = mothers[0].allowed
    observed = f"kthreadd may run on {shown(cores)}"
    if asked:
        return see.none_in(cores, observed)
    tickless = see.list_of_cores(NOHZ_FULL) or ()
    reached = tuple(core for core in see.online if core in cores or core not in tickless)
    return see.none_in(reached, f"{observed}, nohz_full: {shown(tickless)}")


def pressure_monitors(see: View) -> Finding:
    """The accounting is cheap; the thread that serves its watchers has real-time priority."""
    if not see.is_there("/proc/stat") and not see.is_there(_PRESSURE):
        see.skip("no /proc of a kernel here")
    if not see.is_there(_PRESSURE):
        return see.passed("off")
    need_kernel_threads(see)
    monitors = list(kernel_threads(see, "psimon"))
    hit = [thread for thread in monitors if set(thread.allowed) & set(see.cores)]
    if hit:
        return see.failed(f"on, {len(hit)} psimon threads may run on poll cores", see.cores)
    return see.passed(f"on, {len(monitors)} psimon threads elsewhere")


def movable_threads(see: View) -> Finding:
    """Threads that are bound to their core (ksoftirqd/2) are as they should be."""
    need_kernel_threads(see)
    kernel = [thread for thread in all_threads(see.host) if thread.is_kernel]
    movable = [thread for thread in kernel if _is_movable(see, thread)]
    there = [str(thread) for thread in movable if _is_there(see, thread)]
    where = format_cpu_list(see.cores) if see.cores else "all cores alike"
    if there:
        observed = f"{len(there)} may run on {where}: {some(there)}"
    else:
        observed = f"none of {len(movable)} may run on {where}"
    receiving = [thread for thread in kernel if _receives(see, thread)]
    observed += f"; {len(kernel) - len(movable + receiving)} are bound or follow an interrupt"
    stay = [str(thread) for thread in receiving if _is_there(see, thread)]
    if stay:
        observed += (
            f"; left there, for they receive packets: {some(stay)}; move one of a card that is not "
            "the device's by hand (taskset -pc)"
        )
    return see.none_of({core for thread in movable for core in thread.allowed}, observed)


def move_threads(see: View) -> Iterable[Remedy]:
    """Move them to housekeeping cores."""
    if not see.can_split:
        return
    found = [
        thread
        for thread in all_threads(see.host)
        if thread.is_kernel and _is_movable(see, thread) and _is_there(see, thread)
    ]
    if found:
        yield now(
            f"move {len(found)} kernel threads off cores {format_cpu_list(see.cores)}",
            *(move_off(see, thread) for thread in found),
            # Those the kernel starts later are not moved: isolation keeps them out (K04).
            cost="reclaim and other kernel threads share fewer cores",
        )
    # A kernel built without it would ignore the parameter; a core that sleeps needs it not.
    if see.situation.polls and see.is_there(NOHZ_FULL):
        yield boot(
            "at boot: start kernel threads on housekeeping cores",
            KernelParameter("nohz_full", cores=see.cores),
            cost="system calls and interrupts on these cores cost more (context tracking)",
        )


def _is_movable(see: View, thread: Thread) -> bool:
    # The thread of an interrupt goes where its interrupt goes, each time it fires (R02).
    follows = thread.comm.startswith("irq/")
    return not thread.is_bound and not follows and not _receives(see, thread)


def _receives(see: View, thread: Thread) -> bool:
    """Whether it may be the device: where one sleeps, threads receive (networking/napi.rst).

    Which card is the device's no thread tells, so that all of them stay.
    """
    return see.situation.sleeps and not thread.is_bound and thread.comm.startswith("napi/")


def _is_there(see: View, thread: Thread) -> bool:
    if not see.cores:
        return set(thread.allowed) >= set(see.online)
    return not set(thread.allowed).isdisjoint(see.cores)


def priorities(see: View) -> Finding:
    """Without PREEMPT_RT this work is done in softirq context, which no thread can starve."""
    if not see.machine.is_realtime:
        see.skip("the kernel is not PREEMPT_RT")
    judged = _per_core(see)
    if not judged:
        return see.unknown("no ksoftirqd, ktimers or rcuc thread is visible", KERNEL_THREADS)
    low = [f"{thread.comm} at {thread.priority}" for thread in judged if not _is_enough(thread)]
    if low:
        return see.failed(f"{len(low)} of {len(judged)}: {some(low)}", see.cores)
    return see.passed(f"{len(judged)} threads have them", see.cores)


def raise_priorities(see: View) -> Iterable[Remedy]:
    """Raise those that are too low."""
    low = [thread for thread in _per_core(see) if not _is_enough(thread)]
    if low:
        yield now(
            f"raise the priority of {len(low)} kernel threads",
            *(set_priority(thread, _LEAST[_kind(thread)]) for thread in low),
            risk="a polling thread still starves them at a higher priority than theirs",
        )
    parameter = KernelParameter("rcutree.kthread_prio", "11")
    yield boot("at boot: RCU's threads at priority 11", parameter)


def _per_core(see: View) -> list[Thread]:
    """Threads of these three kinds, on the poll cores if they are named."""
    found = []
    for thread in all_threads(see.host):
        core = cores_in(thread.comm.partition("/")[2])
        is_ours = core is not None and (not see.cores or set(core) <= set(see.cores))
        if thread.is_kernel and _kind(thread) in _LEAST and is_ours:
            found.append(thread)
    return found


def _kind(thread: Thread) -> str:
    return thread.comm.partition("/")[0]


def _is_enough(thread: Thread) -> bool:
    return thread.policy in REAL_TIME and thread.priority >= _LEAST[_kind(thread)]


def memory_daemons(see: View) -> Finding:
    """Look for DAMON's threads: a file that says "on" without one harms nobody.

    The multi-generation LRU has no thread of its own: kswapd does its work (R22).
    """
    daemons = _kdamonds(see)
    if not daemons:
        need_kernel_threads(see)
        return see.passed("no kdamond thread")
    bad = {core for thread in daemons for core in thread.allowed}
    said = [f"{thread} may run on {format_cpu_list(thread.allowed)}" for thread in daemons]
    return see.none_of(bad, some(said))


def move_or_end_daemons(see: View) -> Iterable[Remedy]:
    """Move them; or switch off what switched them on, where a file says."""
    wanted = format_cpu_list(see.housekeeping)
    moves = [
        move(thread, wanted)
        for thread in _kdamonds(see)
        # Nowhere to go where nobody named the poll cores.
        if see.can_split and not thread.is_bound and not set(see.cores).isdisjoint(thread.allowed)
    ]
    if moves:
        summary = "move DAMON's threads to housekeeping cores"
        yield now(summary, *moves, cost="DAMON shares fewer cores")
    cost = "memory it would have reclaimed"
    if off := _switched_off(see):
        yield now("switch DAMON off", *off, id="now-2", profile=EXTREME, cost=cost)
    off_at_boot = {name: KernelParameter(f"{name}.enabled", "N") for name in _DAMON}
    items = [
        parameter
        for name, parameter in off_at_boot.items()
        if _is_enabled(see, name) or booted_with(see, parameter)
    ]
    if items:
        yield boot("at boot: leave DAMON off", *items, cost=cost)


def _kdamonds(see: View) -> list[Thread]:
    threads = all_threads(see.host)
    return [each for each in threads if each.is_kernel and each.comm.startswith("kdamond")]


def _switched_off(see: View) -> list[Change]:
    states = see.paths("/sys/kernel/mm/damon/admin/kdamonds/*/state")
    changes = [write(path, "off", "text") for path in states if see.read(path) == "on"]
    modules = [name for name in _DAMON if _is_enabled(see, name)]
    return [*changes, *(write(_enabled(name), "N", "text") for name in modules)]


def _is_enabled(see: View, module: str) -> bool:
    return see.read(_enabled(module)) in ("Y", "1")


def _enabled(module: str) -> str:
    return f"/sys/module/{module}/parameters/enabled"


CHECKS = (
    Check(
        "K13",
        "kernel threads start elsewhere",
        "Kernel threads may start on poll cores",
        MINOR,
        new_threads,
        "new kernel threads start on housekeeping cores",
        roles=BARE,
        remedies=(
            # Nothing of its own: mainline does not know the parameter.
            by_hand(
                "let nohz_full keep kernel threads away",
                "nohz_full= (K06) keeps them away from the next boot on; R22 moves those that run",
            ),
        ),
        why="a new kernel thread may run on every core that nohz_full did not set aside at boot, "
        "wherever kthreadd runs; one that wakes on a poll core costs a context switch and its work",
        source="StarlingX's patch; rt-conf; kernel/kthread.c",
    ),
    Check(
        "K26",
        "no pressure-stall monitor on poll cores",
        "A pressure-stall monitor may run on poll cores",
        MINOR,
        pressure_monitors,
        "no psimon thread that may run on a poll core; psi=0 is optional",
        roles=frozenset({Role.POLL_CORE, Role.HOUSEKEEPING}),
        remedies=boot(
            "boot without pressure-stall accounting",
            KernelParameter("psi", "0"),
            rollback=REBOOT,
            profile=EXTREME,
            cost="no /proc/pressure: systemd-oomd and other watchers stop working",
        ),
        why="whoever watches pressure (systemd-oomd) starts a psimon thread that wakes several "
        "times a second at real-time priority; the accounting adds work to each context switch",
        source="Ubuntu real-time how-to (psi=0); kernel/sched/psi.c",
    ),
    Check(
        "R22",
        "kernel threads",
        "Kernel threads may run on poll cores",
        MAJOR,
        movable_threads,
        "kernel threads that can be moved run on housekeeping cores only",
        remedies=move_threads,
        why="rcuo*, kswapd, kcompactd, khugepaged, kdamond and others take the core for 10 µs to "
        "milliseconds each time they run",
        source="admin-guide/kernel-per-CPU-kthreads.rst; admin-guide/cpu-isolation.rst",
    ),
    Check(
        "R23",
        "kernel thread priorities",
        "Kernel threads have too low a priority",
        CRITICAL,
        priorities,
        "rcuc at real-time priority 4 or more, ktimers and ksoftirqd at 2 or more",
        roles=frozenset({Role.KVM_HOST, Role.KVM_GUEST}),
        remedies=raise_priorities,
        why="on a PREEMPT_RT kernel a polling SCHED_FIFO thread starves kernel threads of a lower "
        "priority on its core: RCU stalls and timers that never fire stop the whole machine",
        source="tuned realtime-virtual-host; OpenShift node tuning operator",
    ),
    Check(
        "R31",
        "memory daemons",
        "Memory daemons may run on poll cores",
        MAJOR,
        memory_daemons,
        "no kdamond thread, or on housekeeping cores only",
        remedies=move_or_end_daemons,
        why="kdamond wakes up every few milliseconds to sample pages; where it may run on a poll "
        "core it preempts the poller each time",
        source="measured by taut's authors; admin-guide/mm/damon",
    ),
)
