"""Checks of work the kernel queues: on which cores it is done."""

import re
from collections import Counter
from collections.abc import Iterable

from taut.core.cpus import cpu_mask, format_cpu_list
from taut.host.boot.item import KernelParameter, Sysctl, SysfsValue
from taut.host.check import Finding, Remedy
from taut.host.checks._tracing import FOLDERS
from taut.host.table import MAJOR, REBOOT, Check, boot, by_hand, file_check, now, write
from taut.host.threads import some
from taut.host.view import NAME_CORES, View, mask_in, named

_FOLDER = "/sys/devices/virtual/workqueue"
_MASK = f"{_FOLDER}/cpumask"
# workqueue.unbound_cpus came with this kernel.
_SINCE = (6, 6)
_EVENT = "workqueue_execute_start"
# kworker/u8:1 is an unbound one: R07's.
_UNBOUND = re.compile(r"kworker/u")
_FEWER = "unbound kernel work shares fewer cores"


def unbound_at_boot(see: View) -> Finding:
    """R07 changes the mask of a running machine; at boot it takes a parameter."""
    cores = see.mask(_MASK)
    names = ("cpumask", "cpumask_requested", "cpumask_isolated")
    masks = {name: see.read(f"{_FOLDER}/{name}") for name in names}
    observed = ", ".join(f"{name}={mask}" for name, mask in masks.items() if mask)
    return see.none_in(cores, observed)


def bind_at_boot(see: View) -> Iterable[Remedy]:
    """At boot; the change for now is R07's."""
    if not see.can_split:
        return
    cores = see.housekeeping
    summary = f"keep unbound work on {named(cores)}"
    if see.machine.kernel < _SINCE:
        what = "this kernel lacks workqueue.unbound_cpus: write the mask at every boot (R07)"
        yield by_hand(summary, what)
    else:
        parameter = KernelParameter("workqueue.unbound_cpus", cores=cores)
        yield boot(summary, parameter, rollback=REBOOT, cost=_FEWER, now_by="R07")


def unbound_now(see: View) -> Finding:
    """One mask bounds those of all workqueues, writeback's too: what both allow is in force."""
    cores = mask_in(see.text(_MASK)) or see.odd(_MASK)
    observed = f"{_MASK} = cores {format_cpu_list(cores)}"
    writeback = mask_in(see.read(f"{_FOLDER}/writeback/cpumask"))
    if writeback and set(writeback) & set(cores) != set(cores):
        observed += f", writeback {format_cpu_list(set(writeback) & set(cores) or cores)}"
    return see.none_of(cores, observed)


def bind_now(see: View) -> Iterable[Remedy]:
    """Leave the housekeeping cores."""
    if see.can_split:
        mask = cpu_mask(see.housekeeping)
        summary = f"run unbound kernel work on {named(see.housekeeping)}"
        yield now(summary, write(_MASK, mask, "mask"), cost=_FEWER)
        yield boot(f"at boot: {summary}", SysfsValue(_MASK, mask, "mask"), cost=_FEWER)


def bound(see: View) -> Finding:
    """What queues it names who to silence: no mask keeps it away."""
    if see.situation.events is None:
        needs = "--trace, as root, with tracefs mounted on /sys/kernel/tracing"
        return see.unknown("work on the cores: not traced", needs)
    if not see.cores:
        return see.unknown("work on the cores", NAME_CORES)
    if _is_lacking(see):
        return see.unknown("work on the cores", f"a kernel with the event {_EVENT}")
    seen = [
        event
        for event in see.situation.events
        if event.name == _EVENT and not _UNBOUND.match(event.comm) and event.core in see.cores
    ]
    seconds = see.watched.seconds
    if not seen:
        return see.passed(f"none in {seconds:.0f} s", see.cores)
    functions = Counter(_function(event.fields) for event in seen)
    cores = tuple(sorted({event.core for event in seen}))
    said = some([f"{name} {n} times" for name, n in functions.most_common()], 5)
    return see.failed(f"in {seconds:.0f} s on core {format_cpu_list(cores)}: {said}", cores)


def _is_lacking(see: View) -> bool:
    """Whether this kernel traces, but not that; what is not recorded looks like nothing."""
    folders = [f"{folder}/events" for folder in FOLDERS if see.is_there(f"{folder}/events")]
    return bool(folders) and not see.is_there(f"{folders[0]}/workqueue/{_EVENT}")


def _function(fields: str) -> str:
    """`work struct 00000000a1b2c3d4: function vmstat_update`."""
    found = re.search(r"function[ =](\S+)", fields)
    return found[1] if found else "an unnamed function"


CHECKS = (
    Check(
        "K28",
        "unbound kernel work runs elsewhere",
        "Unbound kernel work may run on poll cores",
        MAJOR,
        unbound_at_boot,
        "a mask without poll cores from the first second on",
        remedies=bind_at_boot,
        why="work that belongs to no core (writeback, network, device drivers) runs on any core of "
        "this mask; each item on a poll core costs a context switch and its work",
        source="core-api/workqueue.rst; tuned (sets it from the initrd); measured (files in 6.18)",
    ),
    file_check(
        "R06",
        "memory statistics interval",
        "Memory statistics are folded too often",
        MAJOR,
        "/proc/sys/vm/stat_interval",
        lambda text: int(text) >= 10,
        "10 s or more",
        put="120",
        boot_with=(Sysctl("vm.stat_interval", "120"),),
        cost="figures in /proc/vmstat are up to two minutes old",
        why="every interval a kworker (vmstat_update) preempts the poller: 7 µs on a host, more "
        "than 50 µs as its guest sees it; kernels since 6.5 spare isolated cores",
        source="kernel-per-CPU-kthreads.rst; tuned network-latency (10 s); RHEL MR 2753; "
        "Gallenmüller et al. 2021 (3600 s)",
    ),
    Check(
        "R07",
        "unbound workqueues",
        "Unbound workqueues may use poll cores",
        MAJOR,
        unbound_now,
        "no polling core",
        remedies=bind_now,
        why="unbound kworkers (writeback, crypto, cgroups) run wherever the mask lets them: each "
        "preempts the poller for tens of microseconds and more",
        source="kernel-per-CPU-kthreads.rst; tuned",
    ),
    Check(
        "R08",
        "work bound to polling cores",
        "Kernel work is bound to poll cores",
        MAJOR,
        bound,
        "none",
        traces=(f"workqueue/{_EVENT}",),
        remedies=by_hand(
            "stop what queues the work",
            "each function belongs to a driver, file system or cgroup operation: "
            "stop using it, or run what calls it on a housekeeping core (perf kwork names it)",
        ),
        why="drivers, file systems and cgroups queue work on the core they run on or on every "
        "core: a kworker preempts the poller for tens of microseconds, and no mask prevents it",
        source="kernel-per-CPU-kthreads.rst; perf-kwork",
    ),
)
