"""K19: auditing of system calls."""

import re
from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Profile, Remedy, Severity, failed, not_applicable, passed
from taut.host.check import unknown as cannot_tell
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, at_boot, by_hand
from taut.host.host import Host
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.situation import Situation

_WANTED = "audit off, or without rules"
_ENABLED = re.compile(r"enabled[ =](\d)")


class AuditRules(RoleCheck):
    """Rules are asked for at every system call of every process."""

    id = "K19"
    title = "no auditing of system calls"
    fault = "System calls are audited"
    severity = Severity.MINOR
    why = (
        "with rules loaded every system call of every process goes the slow way through audit, a "
        "microsecond or less; a loop that only polls makes none"
    )
    source = "Ducked Tails (2021); kernel-parameters.txt (audit=)"

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Ask auditctl; without it only what cannot be on is known."""
        if (read_kernel_facts(host).config or {}).get("AUDIT") == "n":
            return not_applicable("this kernel has no audit")
        if _command_line.value(host, "audit") in ("0", "off"):
            return passed("audit=0", _WANTED)
        status = _ENABLED.search(host.command("auditctl", "-s") or "")
        if status is None:
            needs = "auditctl (package auditd), as root"
            return cannot_tell("auditctl does not answer", needs, _WANTED)
        if status[1] == "0":
            return passed("auditing is disabled", _WANTED)
        rules = host.command("auditctl", "-l")
        if rules is None:
            return cannot_tell(f"enabled {status[1]}, rules unknown", "run as root", _WANTED)
        if rules.startswith("No rules"):
            return passed(f"enabled {status[1]}, no rules", _WANTED)
        n_rules = len(rules.splitlines())
        locked = ", locked until the next boot" if status[1] == "2" else ""
        return failed(f"enabled {status[1]}{locked}, {n_rules} rules", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Leave it to those who must answer for compliance."""
        return (
            by_hand(self.id, "disable auditing", "auditctl -e 0; auditctl -e 1 takes it back"),
            at_boot(
                self.id,
                "boot without audit",
                KernelParameter("audit", "0"),
                profile=Profile.EXTREME,
                cost="no audit trail: check what compliance asks for",
            ),
        )


CHECK = AuditRules()
