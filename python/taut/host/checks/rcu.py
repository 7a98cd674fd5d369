"""Checks of RCU: where callbacks run, and how it hurries."""

from collections.abc import Iterable

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import need_command_line, parameters
from taut.host.checks._callbacks import callback_threads, offloaded
from taut.host.checks._threads import move
from taut.host.situation import Role
from taut.host.table import (
    EXTREME,
    MAJOR,
    MINOR,
    POLLING,
    REBOOT,
    Check,
    boot,
    file_check,
    now,
    write,
)
from taut.host.threads import Thread
from taut.host.view import NOHZ_FULL, View, named, shown

_NORMAL = "/sys/kernel/rcu_normal"
_EXPEDITED = "/sys/kernel/rcu_expedited"
_PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"


def callbacks(see: View) -> Finding:
    """Threads rcuop/N exist for all cores once one is offloaded: they alone prove nothing."""
    need_command_line(see)
    threads, away = callback_threads(see), offloaded(see)
    observed = f"offloaded: {shown(away)}, {len(threads)} rcuo threads"
    finding = see.all_in(away if threads else (), observed)
    if astray := _astray(see):
        names = " ".join(thread.comm for thread in astray[:4])
        return see.failed(f"{finding.observed}; on poll cores: {names}", see.cores)
    return finding


def offload(see: View) -> Iterable[Remedy]:
    """Offload at boot; move threads that are there already."""
    if not see.can_split:
        return
    if astray := _astray(see):
        wanted = format_cpu_list(see.housekeeping)
        summary = f"move {len(astray)} rcuo threads to {named(see.housekeeping)}"
        yield now(summary, *(move(thread, wanted) for thread in astray))
    yield boot(
        f"offload RCU callbacks of {named(see.cores)}",
        KernelParameter("rcu_nocbs", cores=see.cores),
        rollback=REBOOT,
        cost="the other cores run the callbacks",
    )


def _astray(see: View) -> list[Thread]:
    return [thread for thread in callback_threads(see) if set(thread.allowed) & set(see.cores)]


def polling_threads(see: View) -> Finding:
    """Optional; what fails is a command line that asks for it in vain."""
    need_command_line(see)
    if parameters(see, "rcu_nocbs_poll"):
        return see.failed("rcu_nocbs_poll: no kernel knows this spelling")
    if not parameters(see, "rcu_nocb_poll"):
        return see.passed("rcu_nocb_poll is not set")
    if not callback_threads(see):
        return see.failed("rcu_nocb_poll without an offloaded core (K08): no effect")
    return see.passed("rcu_nocb_poll")


def has_effect(see: View) -> None:
    """Only kernels with NO_HZ_FULL look at RCU's patience."""
    if see.is_there(_PATIENCE) and not see.is_there(NOHZ_FULL):
        see.skip("no effect: this kernel has no nohz_full (K02)")


def expedited(see: View) -> Finding:
    """An expedited grace period interrupts every core."""
    normal, hurried = see.integer(_NORMAL), see.integer(_EXPEDITED)
    is_good = normal == 1 and hurried == 0
    return see.good_if(is_good, f"rcu_normal={normal}, rcu_expedited={hurried}")


def take_time(see: View) -> Iterable[Remedy]:
    """Both files now, one parameter at boot."""
    wanted = {_NORMAL: 1, _EXPEDITED: 0}
    cost = "network namespaces and interfaces go away more slowly"
    measure = "tuned sets rcu_normal_after_boot=1, Red Hat's sample for radio networks sets 0"
    summary = "let RCU take its time"
    changes = [write(path, str(n)) for path, n in wanted.items() if see.number(path) != n]
    if changes:
        yield now(summary, *changes, cost=cost, measure=measure)
    parameter = KernelParameter("rcupdate.rcu_normal_after_boot", "1")
    yield boot(summary, parameter, rollback=REBOOT, cost=cost, measure=measure)


CHECKS = (
    Check(
        "K08",
        "RCU callbacks run elsewhere",
        "RCU callbacks run on poll cores",
        MAJOR,
        callbacks,
        "every poll core in rcu_nocbs, the rcuo threads on the other cores",
        remedies=offload,
        why="callbacks run in a softirq of the core that queued them: 20 to 40 gaps of 37 µs in "
        "five seconds where they are not offloaded",
        source="kernel-parameters.txt (rcu_nocbs); Ducked Tails (2021); measured",
    ),
    Check(
        "K09",
        "RCU threads poll",
        "rcu_nocb_poll has no effect",
        MINOR,
        polling_threads,
        "rcu_nocb_poll, spelled so, with offloaded cores; or not at all: it is optional",
        roles=frozenset({Role.POLL_CORE}),
        remedies=boot(
            "let RCU's threads poll",
            KernelParameter("rcu_nocb_poll"),
            rollback=REBOOT,
            profile=EXTREME,
            cost="a thread on a housekeeping core wakes all the time: energy",
        ),
        why="a core that queues an RCU callback then need not wake the thread that runs it, which "
        "spares it an interrupt to another core; the thread polls on a housekeeping core instead",
        source="kernel-parameters.txt (rcu_nocb_poll); Ducked Tails (2021) misspells it",
    ),
    file_check(
        "K10",
        "RCU's patience with tickless cores",
        "RCU soon loses patience with tickless cores",
        MINOR,
        _PATIENCE,
        lambda text: int(text) >= 1000,
        "1000 ms or more",
        applies=has_effect,
        boot_with=(KernelParameter("rcutree.nohz_full_patience_delay", "1000"),),
        cost="grace periods last up to a second longer",
        why="a grace period that waits for a core in nohz_full turns its tick on and interrupts it "
        "after a few jiffies; with a second of patience most grace periods end before",
        source="tuned network-latency; Linux 6.11 (nohz_full_patience_delay)",
    ),
    Check(
        "K11",
        "no expedited RCU",
        "RCU grace periods may be expedited",
        MINOR,
        expedited,
        "rcu_normal=1 and rcu_expedited=0",
        roles=POLLING | {Role.HOUSEKEEPING},
        remedies=take_time,
        why="an expedited grace period sends an interrupt to every core that may hold a reader, "
        "poll cores too: about a microsecond each, more in a guest",
        source="tuned; kernel-parameters.txt (rcupdate.rcu_normal_after_boot)",
    ),
)
