"""R07: which cores unbound kernel work may run on."""

from collections.abc import Sequence

from taut.core.cpus import cpu_mask, format_cpu_list
from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    not_applicable,
    unknown,
    unreadable,
)
from taut.host.checks.runtime._cores import cores_of_mask, verdict
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_FOLDER = "/sys/devices/virtual/workqueue"
_PATH = f"{_FOLDER}/cpumask"


class WorkqueueCpumask(Check):
    """One mask bounds those of all workqueues, writeback's too: what both allow is in force."""

    id = "R07"
    title = "unbound workqueues"
    fault = "Unbound workqueues may use poll cores"
    severity = Severity.MAJOR
    why = (
        "unbound kworkers (writeback, crypto, cgroups) run wherever the mask lets them: each "
        "preempts the poller for tens of microseconds and more"
    )
    source = "kernel-per-CPU-kthreads.rst; tuned"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare as bitmaps."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        text = host.read(_PATH)
        wanted = "no polling core"
        if text is None:
            return unreadable(host, _PATH, wanted)
        cores = cores_of_mask(text)
        if not cores:
            return unknown(f"{_PATH}: {text[:60]!r}", "a kernel whose format taut knows", wanted)
        observed = f"{_PATH} = cores {format_cpu_list(cores)}"
        writeback = cores_of_mask(host.read(f"{_FOLDER}/writeback/cpumask"))
        if writeback and set(writeback) & set(cores) != set(cores):
            observed += f", writeback {format_cpu_list(set(writeback) & set(cores) or cores)}"
        return verdict(cores, situation, observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Leave the housekeeping cores."""
        if not situation.cores or not situation.housekeeping:
            return ()
        mask = cpu_mask(situation.housekeeping)
        cores = format_cpu_list(situation.housekeeping)
        cost = "unbound kernel work shares fewer cores"
        return (
            Remedy(
                "R07-now",
                f"run unbound kernel work on cores {cores}",
                changes=(Change(FileSetting(_PATH, "mask"), mask),),
                cost=cost,
            ),
            Remedy(
                "R07-boot",
                f"at boot: run unbound kernel work on cores {cores}",
                boot=(SysfsValue(_PATH, mask),),
                cost=cost,
            ),
        )


CHECK = WorkqueueCpumask()
