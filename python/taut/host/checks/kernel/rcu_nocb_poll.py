"""K09: offloaded RCU threads poll instead of being woken."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, at_boot
from taut.host.checks.kernel._threads import kernel_threads
from taut.host.host import Host
from taut.host.situation import Role, Situation

_WANTED = "rcu_nocb_poll, spelled so, with offloaded cores; or not at all: it is optional"


class RcuNocbPoll(RoleCheck):
    """Optional; what fails is a command line that asks for it in vain."""

    id = "K09"
    title = "RCU threads poll"
    fault = "rcu_nocb_poll has no effect"
    severity = Severity.MINOR
    why = (
        "a core that queues an RCU callback then need not wake the thread that runs it, which "
        "spares it an interrupt to another core; the thread polls on a housekeeping core instead"
    )
    source = "kernel-parameters.txt (rcu_nocb_poll); Ducked Tails (2021) misspells it"
    roles = frozenset({Role.POLL_CORE})

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Look for the spelling, and for what it needs."""
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        if _command_line.find(host, "rcu_nocbs_poll"):
            return failed("rcu_nocbs_poll: no kernel knows this spelling", _WANTED)
        if not _command_line.find(host, "rcu_nocb_poll"):
            return passed("rcu_nocb_poll is not set", _WANTED)
        if not any(kernel_threads(host, "rcuo")):
            return failed("rcu_nocb_poll without an offloaded core (K08): no effect", _WANTED)
        return passed("rcu_nocb_poll", _WANTED)

    def remedies(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """For those who go for the last microsecond."""
        return (
            at_boot(
                self.id,
                "let RCU's threads poll",
                KernelParameter("rcu_nocb_poll"),
                profile=Profile.EXTREME,
                cost="a thread on a housekeeping core wakes all the time: energy",
            ),
        )


CHECK = RcuNocbPoll()
