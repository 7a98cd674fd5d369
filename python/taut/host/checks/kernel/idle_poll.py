"""K14: idle=poll."""

from collections.abc import Sequence

from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, by_hand
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation

_WANTED = "no idle=poll: hold the latency per core instead (R18, R19)"


class IdlePoll(RoleCheck):
    """A core that polls never idles; the parameter makes all the others burn power as well."""

    id = "K14"
    title = "no idle=poll"
    fault = "Idle cores spin (idle=poll)"
    severity = Severity.MINOR
    why = (
        "every idle core spins: the sibling thread starves, turbo goes, and in a guest the host's "
        "core burns and haltpoll is off; kernel-parameters.txt does not recommend it"
    )
    source = "kernel-parameters.txt (idle=); Intel NFV-I (2018) and Ducked Tails (2021) set it"
    roles = POLLING | {Role.HOUSEKEEPING}

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Tolerate it where only cores that poll have nothing else."""
        if not situation.machine.is_x86:
            return not_applicable("idle= is for x86")
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        idle = _command_line.value(host, "idle")
        if idle != "poll":
            return passed("no idle=poll", _WANTED)
        if situation.role in (Role.POLL_CORE, Role.KVM_HOST):
            return passed("idle=poll: no exit latency, at the power of all cores", "")
        return failed("idle=poll", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Take it away."""
        what = "remove idle=poll from the kernel's command line; R18 and R19 do it per core"
        return (by_hand(self.id, "remove idle=poll", what),)


CHECK = IdlePoll()
