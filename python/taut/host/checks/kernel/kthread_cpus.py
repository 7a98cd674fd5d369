"""K13: where new kernel threads run."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, unknown
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._boot_log import boot_lines
from taut.host.checks.kernel._shape import RoleCheck, by_hand, judge_outside, shown
from taut.host.checks.kernel._threads import kernel_threads
from taut.host.host import Host
from taut.host.situation import Role, Situation

_WANTED = "new kernel threads start on housekeeping cores"


class KthreadCpus(RoleCheck):
    """kthread_cpus= is a patch of some distributions; nohz_full= does the same on any kernel."""

    id = "K13"
    title = "kernel threads start elsewhere"
    fault = "Kernel threads may start on poll cores"
    severity = Severity.MINOR
    why = (
        "unbound kernel threads may run on every core the kernel set aside for them at boot, which "
        "kthreadd shows; one that wakes on a poll core costs a context switch and its work"
    )
    source = "StarlingX's patch; rt-conf; kernel/kthread.c"
    roles = frozenset({Role.POLL_CORE, Role.KVM_HOST})

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Look where kthreadd may run; a parameter the kernel ignores is wrong anyway."""
        asked = _command_line.find(host, "kthread_cpus")
        ignored = boot_lines(host, "Unknown kernel command line parameters")
        if asked and any("kthread_cpus" in line for line in ignored):
            return failed(
                f"{asked[-1].text}: this kernel ignores it", f"{_WANTED}, by nohz_full= (K06)"
            )
        mothers = [thread for thread in kernel_threads(host, "kthreadd") if thread.pid == 2]
        if not mothers:
            needs = "the kernel's threads in /proc (hidden in a container and by hidepid)"
            return unknown("kthreadd is not visible", needs, _WANTED)
        cores = mothers[0].allowed
        return judge_outside(situation, cores, f"kthreadd may run on {shown(cores)}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Nothing of its own: mainline does not know the parameter."""
        what = "nohz_full= (K06) keeps them away from the next boot on; R22 moves those that run"
        return (by_hand(self.id, "let nohz_full keep kernel threads away", what),)


CHECK = KthreadCpus()
