"""K20: watchdogs that look for hung cores."""

from collections.abc import Sequence

from taut.core.cpus import cores_in, format_cpu_list
from taut.host.boot.item import KernelParameter, Sysctl
from taut.host.check import Finding, Profile, Remedy, Rollback, Severity, passed
from taut.host.checks.kernel._shape import (
    RoleCheck,
    at_boot,
    can_split,
    judge_outside,
    named,
    unread,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation

_FOLDER = "/proc/sys/kernel"
_MASK = f"{_FOLDER}/watchdog_cpumask"
_SWITCHES = ("nmi_watchdog", "soft_watchdog")
_WANTED = "watchdog_cpumask without poll cores, or both watchdogs off"


class LockupWatchdogs(RoleCheck):
    """Taking the poll cores out of the mask keeps the detectors for the others."""

    id = "K20"
    title = "lockup watchdogs stay away"
    fault = "Lockup watchdogs run on poll cores"
    severity = Severity.MINOR
    why = (
        "each watched core takes a timer every four seconds, a wake-up of a thread of the highest "
        "priority, and non-maskable interrupts that occupy a performance counter"
    )
    source = "kernel-parameters.txt (nmi_watchdog, nosoftlockup); tuned; Ducked Tails (2021)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """The switches first, then the mask."""
        if host.read(f"{_FOLDER}/watchdog") == "0":
            return passed("both watchdogs are off", _WANTED)
        values = {name: host.read(f"{_FOLDER}/{name}") for name in _SWITCHES}
        observed = ", ".join(f"{name}={value}" for name, value in values.items() if value)
        if observed and all(value in ("0", None) for value in values.values()):
            return passed(observed, _WANTED)
        text = host.read(_MASK)
        cores = cores_in(text)
        if cores is None:
            return unread(host, _MASK, _WANTED)
        observed = ", ".join(filter(None, (observed, f"watchdog_cpumask={text}")))
        return judge_outside(situation, cores, observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Leave the poll cores out; the last microsecond: none at all."""
        found = []
        if can_split(situation):
            wanted = format_cpu_list(situation.housekeeping)
            summary = f"watch {named(situation.housekeeping)} only"
            cost = "a hang of a poll core is not reported"
            change = Change(FileSetting(_MASK, "list"), wanted)
            found.append(Remedy("K20-now", summary, changes=(change,), cost=cost))
            boot = Sysctl("kernel.watchdog_cpumask", wanted)
            found.append(at_boot(self.id, summary, boot, cost=cost))
        return (
            *found,
            Remedy(
                "K20-boot-2",
                "boot without both watchdogs",
                boot=(KernelParameter("nmi_watchdog", "0"), KernelParameter("nosoftlockup")),
                profile=Profile.EXTREME,
                cost="no hang is reported at all; a performance counter becomes free",
                rollback=Rollback.REBOOT,
            ),
        )


CHECK = LockupWatchdogs()
