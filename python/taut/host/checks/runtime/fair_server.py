"""R10: the time the kernel keeps on each core for threads that are not real-time."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    not_applicable,
    unknown,
)
from taut.host.checks.runtime._cores import verdict
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_DEBUGFS = "/sys/kernel/debug"
_FOLDER = f"{_DEBUGFS}/sched/fair_server"
_SINCE = (6, 12)


class FairServer(Check):
    """Under debugfs: only root sees it."""

    id = "R10"
    title = "fair server"
    fault = "The fair server may interrupt real-time pollers"
    severity = Severity.MAJOR
    why = (
        "since 6.12 it replaces real-time throttling: up to 50 ms of each second go to other "
        "threads that wait behind a SCHED_FIFO poller, and its timer can bring the tick back to a "
        "nohz_full core (1000 interrupts a second against none)"
    )
    source = "NVIDIA NV-Kernels #400; kernel commit d741f297bcea"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Read the runtime of each core; 0 is off."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        if situation.machine.kernel < _SINCE:
            return not_applicable("kernels before 6.12 have none (R09)")
        wanted = "runtime 0 on polling cores"
        if not host.names(_FOLDER):
            return _unseen(host, wanted)
        cores = situation.cores or situation.online
        runtimes = {core: host.number(_path(core)) for core in cores}
        unread = [core for core, runtime in runtimes.items() if runtime is None]
        if unread and host.is_denied(_path(unread[0])):
            return _denied(_path(unread[0]), wanted)
        if unread:
            observed = f"{_path(unread[0])}: {(host.read(_path(unread[0])) or 'not there')[:60]}"
            return unknown(observed, "a kernel whose format taut knows", wanted)
        bad = [core for core, runtime in runtimes.items() if runtime]
        if bad:
            most_us = max(runtime or 0 for runtime in runtimes.values()) // 1000
            observed = f"runtime up to {most_us} µs on cores {format_cpu_list(bad)}"
        else:
            observed = f"runtime 0 on cores {format_cpu_list(cores)}"
        return verdict(bad, situation, observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch it off on the polling cores."""
        cores = [core for core in situation.cores if host.number(_path(core))]
        if not cores:
            return ()
        return (
            Remedy(
                "R10-now",
                f"switch off the fair server on cores {format_cpu_list(cores)}",
                changes=tuple(Change(FileSetting(_path(core), "number"), "0") for core in cores),
                profile=Profile.EXTREME,
                risk="under a SCHED_FIFO poller kernel threads of that core never run again: the "
                "machine may hang; only with one thread per core",
                measure="the kernel's own fix leaves the runtime and skips the timer on isolated "
                "cores; nobody published what runtime 0 brings",
            ),
        )


def _path(core: int) -> str:
    return f"{_FOLDER}/cpu{core}/runtime"


def _unseen(host: Host, wanted: str) -> Finding:
    """Tell what hides it: rights, debugfs, or a kernel built without."""
    if host.is_denied(f"{_FOLDER}/cpu0/runtime") or host.is_denied(f"{_DEBUGFS}/sched"):
        return _denied(_FOLDER, wanted)
    if host.names(_DEBUGFS):
        return not_applicable(f"no {_FOLDER} on this kernel")
    needs = f"debugfs: mount -t debugfs none {_DEBUGFS}, as root"
    return unknown(f"{_DEBUGFS} is empty: not mounted, or not for this user", needs, wanted)


def _denied(path: str, wanted: str) -> Finding:
    needs = "run as root; under kernel lockdown (lockdown=none) not even root may"
    return unknown(f"{path}: permission denied", needs, wanted)


CHECK = FairServer()
