"""K08: RCU callbacks run elsewhere."""

import re
from collections.abc import Sequence

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy, Severity, failed, unknown
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._boot_log import boot_lines
from taut.host.checks.kernel._shape import (
    CPU,
    RoleCheck,
    at_boot,
    can_split,
    judge_inside,
    named,
    shown,
)
from taut.host.checks.kernel._threads import kernel_threads
from taut.host.host import Host
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.setting import Change
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.situation import Situation
from taut.host.threads import Thread

_WANTED = "every poll core in rcu_nocbs, the rcuo threads on the other cores"
_SAID = "Offload RCU callbacks from CPUs:"


class RcuCallbacks(RoleCheck):
    """Threads rcuop/N exist for all cores once one is offloaded: they alone prove nothing."""

    id = "K08"
    title = "RCU callbacks run elsewhere"
    fault = "RCU callbacks run on poll cores"
    severity = Severity.MAJOR
    why = (
        "callbacks run in a softirq of the core that queued them: 20 to 40 gaps of 37 µs in five "
        "seconds where they are not offloaded"
    )
    source = "kernel-parameters.txt (rcu_nocbs); Ducked Tails (2021); measured"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Find the offloaded cores, and where the threads may run that do it."""
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        offloaded = _offloaded(host)
        threads = list(kernel_threads(host, "rcuo"))
        observed = f"offloaded: {shown(offloaded)}, {len(threads)} rcuo threads"
        finding = judge_inside(situation, offloaded if threads else (), observed, _WANTED)
        astray = _astray(threads, situation)
        if astray:
            names = " ".join(thread.comm for thread in astray[:4])
            return failed(f"{finding.observed}; on poll cores: {names}", _WANTED, situation.cores)
        return finding

    def remedies(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Offload at boot; move threads that are there already."""
        if not can_split(situation):
            return ()
        found = []
        astray = _astray(list(kernel_threads(host, "rcuo")), situation)
        if astray:
            wanted = format_cpu_list(situation.housekeeping)
            changes = [
                Change(ThreadAffinity(thread.pid, thread.comm, thread.start_ticks), wanted)
                for thread in astray
            ]
            summary = f"move {len(astray)} rcuo threads to cores {wanted}"
            found.append(Remedy("K08-now", summary, changes=changes))
        found.append(
            at_boot(
                self.id,
                f"offload RCU callbacks of {named(situation.cores)}",
                KernelParameter("rcu_nocbs", cores=situation.cores),
                cost="the other cores run the callbacks",
            )
        )
        return found


def _offloaded(host: Host) -> CpuSet:
    """Give what the kernel said at boot; else what it was asked for: nohz_full implies it."""
    for line in boot_lines(host, _SAID):
        cores = cores_in(re.sub(r"[.\s]", "", line.partition(_SAID)[2]))
        if cores is not None:
            return cores
    options = read_kernel_facts(host).config or {}
    if options.get("RCU_NOCB_CPU", "y") != "y":
        return ()
    found = set(cores_in(host.read(f"{CPU}/nohz_full")) or ())
    if options.get("RCU_NOCB_CPU_DEFAULT_ALL") == "y":
        found.update(cores_in(host.read(f"{CPU}/online")) or ())
    for parameter in _command_line.find(host, "rcu_nocbs"):
        found.update(_command_line.given_cores(host, parameter.value or "") or ())
    return tuple(sorted(found))


def _astray(threads: Sequence[Thread], situation: Situation) -> list[Thread]:
    return [thread for thread in threads if set(thread.allowed) & set(situation.cores)]


CHECK = RcuCallbacks()
