"""Checks for real-time pollers: what the kernel keeps for others."""

from collections.abc import Iterable
from typing import NoReturn

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import Sysctl
from taut.host.check import Finding, Remedy
from taut.host.checks._boot import CMDLINE
from taut.host.checks._threads import REAL_TIME
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.table import CRITICAL, EXTREME, MAJOR, MINIMAL, Check, boot, now, write
from taut.host.threads import comm_of, stat_fields
from taut.host.view import NEW_FORMAT, View

_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
_POLICY = 38  # of the fields of stat (proc(5)) after the name
_SWITCH = "rt_group_sched="
_DEBUGFS = "/sys/kernel/debug"
_FAIR_SERVER = f"{_DEBUGFS}/sched/fair_server"
_SINCE = (6, 12)
_HANGS = "a real-time thread that never sleeps hangs a core it shares with the system"


def throttling(see: View) -> Finding:
    """Asked only where something polls under SCHED_FIFO or SCHED_RR."""
    threads = _real_time_threads(see)
    if not threads:
        see.skip("no polling thread under SCHED_FIFO or SCHED_RR")
    if see.machine.kernel >= _SINCE:
        groups = _throttles_groups(see)
        if groups is None:
            needs = "/boot/config-RELEASE, or a kernel with /proc/config.gz: RT_GROUP_SCHED"
            see.cannot_tell("since 6.12 only kernels with RT_GROUP_SCHED limit", needs)
        if not groups:
            see.skip("the fair server (R10) has replaced it since 6.12")
    runtime_us, period_us = see.integer(_RUNTIME), see.number(_PERIOD)
    observed = f"{_RUNTIME} = {runtime_us}, {', '.join(threads[:3])} real-time"
    if runtime_us < 0 or (period_us is not None and runtime_us >= period_us):
        return see.passed(observed)
    return see.failed(observed, see.cores)


def _throttles_groups(see: View) -> bool | None:
    """Whether this kernel still throttles, by control group; None: nobody tells its options.

    The root group's limit is that of all (kernel/sched/rt.c); newer ones can have it off.
    """
    options = read_kernel_facts(see.host).config
    if options is None:
        return None
    if options.get("RT_GROUP_SCHED") != "y":
        return False
    asked = [word for word in (see.read(CMDLINE) or "").split() if word.startswith(_SWITCH)]
    is_off = options.get("RT_GROUP_SCHED_DEFAULT_DISABLED") == "y"
    return asked[-1] != f"{_SWITCH}0" if asked else not is_off


def _real_time_threads(see: View) -> list[str]:
    """Name them `comm (thread)`; threads may end while we read."""
    found = []
    for process in see.situation.processes:
        for thread in see.names(f"/proc/{process}/task"):
            stat = see.read(f"/proc/{process}/task/{thread}/stat") or ""
            fields = stat_fields(stat)
            policy = fields[_POLICY] if len(fields) > _POLICY else ""
            if policy.isdecimal() and int(policy) in REAL_TIME:
                found.append(f"{comm_of(stat)} ({thread})")
    return found


def fair_server(see: View) -> Finding:
    """Read the runtime of each core; 0 is off. Under debugfs: only root sees it."""
    if see.machine.kernel < _SINCE:
        see.skip("kernels before 6.12 have none (R09)")
    if not see.names(_FAIR_SERVER):
        _unseen(see)
    runtimes = {core: see.number(_runtime(core)) for core in see.judged}
    unread = [_runtime(core) for core, runtime in runtimes.items() if runtime is None]
    if unread and see.host.is_denied(unread[0]):
        _denied(see, unread[0])
    if unread:
        see.cannot_tell(f"{unread[0]}: {(see.read(unread[0]) or 'not there')[:60]}", NEW_FORMAT)
    bad = [core for core, runtime in runtimes.items() if runtime]
    observed = f"runtime 0 on cores {format_cpu_list(see.judged)}"
    if bad:
        most_us = max(runtime or 0 for runtime in runtimes.values()) // 1000
        observed = f"runtime up to {most_us} µs on cores {format_cpu_list(bad)}"
    return see.none_of(bad, observed)


def end_fair_server(see: View) -> Iterable[Remedy]:
    """Switch it off on the polling cores."""
    if cores := [core for core in see.cores if see.number(_runtime(core))]:
        yield now(
            f"switch off the fair server on cores {format_cpu_list(cores)}",
            *(write(_runtime(core), "0") for core in cores),
            profile=EXTREME,
            risk="under a SCHED_FIFO poller kernel threads of that core never run again: the "
            "machine may hang; only with one thread per core",
            measure="the kernel's own fix leaves the runtime and skips the timer on isolated "
            "cores; nobody published what runtime 0 brings",
        )


def _runtime(core: int) -> str:
    return f"{_FAIR_SERVER}/cpu{core}/runtime"


def _unseen(see: View) -> NoReturn:
    """Tell what hides it: rights, debugfs, or a kernel built without."""
    if see.host.is_denied(_runtime(0)) or see.host.is_denied(f"{_DEBUGFS}/sched"):
        _denied(see, _FAIR_SERVER)
    if see.names(_DEBUGFS):
        see.skip(f"no {_FAIR_SERVER} on this kernel")
    needs = f"debugfs: mount -t debugfs none {_DEBUGFS}, as root"
    see.cannot_tell(f"{_DEBUGFS} is empty: not mounted, or not for this user", needs)


def _denied(see: View, path: str) -> NoReturn:
    needs = "run as root; under kernel lockdown (lockdown=none) not even root may"
    see.cannot_tell(f"{path}: permission denied", needs)


CHECKS = (
    Check(
        "R09",
        "throttling of real-time threads",
        "Real-time threads are throttled",
        CRITICAL,
        throttling,
        "-1: no limit",
        remedies=(
            now(f"write -1 to {_RUNTIME}", write(_RUNTIME, "-1"), profile=MINIMAL, risk=_HANGS),
            boot(
                "at boot: no limit for real-time threads",
                Sysctl("kernel.sched_rt_runtime_us", "-1"),
                profile=MINIMAL,
                risk=_HANGS,
            ),
        ),
        why="by default real-time threads get 95 % of each second: a SCHED_FIFO poller stands "
        "still for 50 ms every second; any other poller does not care",
        source="Intel NFV-I host configuration; tuned; OpenShift node tuning operator",
    ),
    Check(
        "R10",
        "fair server",
        "The fair server may interrupt real-time pollers",
        MAJOR,
        fair_server,
        "runtime 0 on polling cores",
        remedies=end_fair_server,
        why="since 6.12 it replaces real-time throttling: up to 50 ms of each second go to other "
        "threads that wait behind a SCHED_FIFO poller, and its timer can bring the tick back to a "
        "nohz_full core (1000 interrupts a second against none)",
        source="NVIDIA NV-Kernels #400; kernel commit d741f297bcea",
    ),
)
