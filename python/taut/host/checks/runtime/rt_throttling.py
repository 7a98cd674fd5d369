"""R09: how much of each second a SCHED_FIFO poller may run."""

from collections.abc import Sequence

from taut.host.boot.item import Sysctl
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.settings.thread_scheduler import POLICIES
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_PERIOD = "/proc/sys/kernel/sched_rt_period_us"
_REALTIME = (POLICIES["fifo"], POLICIES["rr"])
_POLICY = 38  # of the fields of stat (proc(5)) after the name
_FAIR_SERVER = (6, 12)
_CMDLINE = "/proc/cmdline"
_SWITCH = "rt_group_sched="


class RtThrottling(Check):
    """Asked only where something polls under SCHED_FIFO or SCHED_RR."""

    id = "R09"
    title = "throttling of real-time threads"
    fault = "Real-time threads are throttled"
    severity = Severity.CRITICAL
    why = (
        "by default real-time threads get 95 % of each second: a SCHED_FIFO poller stands still "
        "for 50 ms every second; any other poller does not care"
    )
    source = "Intel NFV-I host configuration; tuned; OpenShift node tuning operator"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for such a thread first."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        threads = _realtime_threads(host, situation.processes)
        if not threads:
            return not_applicable("no polling thread under SCHED_FIFO or SCHED_RR")
        wanted = "-1: no limit"
        if situation.machine.kernel >= _FAIR_SERVER:
            groups = _throttles_groups(host)
            if groups is None:
                needs = "/boot/config-RELEASE, or a kernel with /proc/config.gz: RT_GROUP_SCHED"
                return unknown("since 6.12 only kernels with RT_GROUP_SCHED limit", needs, wanted)
            if not groups:
                return not_applicable("the fair server (R10) has replaced it since 6.12")
        text = host.read(_RUNTIME)
        if text is None:
            return unreadable(host, _RUNTIME, wanted)
        runtime_us = host.number(_RUNTIME)
        if runtime_us is None:
            needs = "a kernel whose format taut knows"
            return unknown(f"{_RUNTIME}: {text[:60]!r}", needs, wanted)
        observed = f"{_RUNTIME} = {runtime_us}, {', '.join(threads[:3])} real-time"
        period_us = host.number(_PERIOD)
        if runtime_us < 0 or (period_us is not None and runtime_us >= period_us):
            return passed(observed, wanted)
        return failed(observed, wanted, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """No limit."""
        risk = "a real-time thread that never sleeps hangs a core it shares with the system"
        return (
            Remedy(
                "R09-now",
                f"write -1 to {_RUNTIME}",
                changes=(Change(FileSetting(_RUNTIME, "number"), "-1"),),
                profile=Profile.MINIMAL,
                risk=risk,
            ),
            Remedy(
                "R09-boot",
                "at boot: no limit for real-time threads",
                boot=(Sysctl("kernel.sched_rt_runtime_us", "-1"),),
                profile=Profile.MINIMAL,
                risk=risk,
            ),
        )


def _throttles_groups(host: Host) -> bool | None:
    """Whether this kernel still throttles, by control group; None: nobody tells its options.

    The root group's limit is that of all (kernel/sched/rt.c); newer ones can have it off.
    """
    facts = read_kernel_facts(host)
    if facts.config is None:
        return None
    if facts.config.get("RT_GROUP_SCHED") != "y":
        return False
    asked = [word for word in (host.read(_CMDLINE) or "").split() if word.startswith(_SWITCH)]
    is_off = facts.config.get("RT_GROUP_SCHED_DEFAULT_DISABLED") == "y"
    return asked[-1] != f"{_SWITCH}0" if asked else not is_off


def _realtime_threads(host: Host, processes: Sequence[int]) -> list[str]:
    """Name them `comm (thread)`; threads may end while we read."""
    found = []
    for process in processes:
        for thread in host.names(f"/proc/{process}/task"):
            head, _, tail = (host.read(f"/proc/{process}/task/{thread}/stat") or "").rpartition(")")
            fields = tail.split()
            policy = fields[_POLICY] if len(fields) > _POLICY else ""
            if policy.isdecimal() and int(policy) in _REALTIME:
                found.append(f"{head.partition('(')[2]} ({thread})")
    return found


CHECK = RtThrottling()
