"""K26: accounting of pressure stalls."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
)
from taut.host.checks.kernel._shape import RoleCheck, at_boot
from taut.host.checks.kernel._threads import kernel_threads
from taut.host.host import Host
from taut.host.situation import Role, Situation

_FOLDER = "/proc/pressure"
_WANTED = "no psimon thread that may run on a poll core; psi=0 is optional"


class PressureStalls(RoleCheck):
    """The accounting is cheap; the thread that serves its watchers has real-time priority."""

    id = "K26"
    title = "no pressure-stall monitor on poll cores"
    fault = "A pressure-stall monitor may run on poll cores"
    severity = Severity.MINOR
    why = (
        "whoever watches pressure (systemd-oomd) starts a psimon thread that wakes several times a "
        "second at real-time priority; the accounting adds work to each context switch"
    )
    source = "Ubuntu real-time how-to (psi=0); kernel/sched/psi.c"
    roles = frozenset({Role.POLL_CORE, Role.HOUSEKEEPING})

    def judge(self, host: Host, situation: Situation) -> Finding:
        """On at all, and whether somebody watches."""
        if not host.is_there("/proc/stat") and not host.is_there(_FOLDER):
            return not_applicable("no /proc of a kernel here")
        if not host.is_there(_FOLDER):
            return passed("off", _WANTED)
        monitors = list(kernel_threads(host, "psimon"))
        hit = [thread for thread in monitors if set(thread.allowed) & set(situation.cores)]
        if hit:
            observed = f"on, {len(hit)} psimon threads may run on poll cores"
            return failed(observed, _WANTED, situation.cores)
        return passed(f"on, {len(monitors)} psimon threads elsewhere", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only at boot."""
        return (
            at_boot(
                self.id,
                "boot without pressure-stall accounting",
                KernelParameter("psi", "0"),
                profile=Profile.EXTREME,
                cost="no /proc/pressure: systemd-oomd and other watchers stop working",
            ),
        )


CHECK = PressureStalls()
