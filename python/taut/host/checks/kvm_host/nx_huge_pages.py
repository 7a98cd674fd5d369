"""V05: whether KVM splits huge pages that hold code."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Rollback,
    Severity,
    not_applicable,
    unknown,
    unreadable,
)
from taut.host.checks.kvm_host._module import Parameter, judge_parameter, written_now
from taut.host.checks.kvm_host._shape import not_a_host
from taut.host.host import Host
from taut.host.situation import Situation

_BUG = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"
_PARAMETER = Parameter("kvm", "nx_huge_pages", ("N", "0", "never"), "N")


class NxHugePages(Check):
    """A mitigation of ITLB_MULTIHIT; where the processor has the bug, it stays."""

    id = "V05"
    title = "huge pages split for a processor bug"
    fault = "KVM splits huge pages"
    severity = Severity.MAJOR
    why = (
        "with the mitigation on, KVM splits huge pages at their first instruction fetch and a "
        "thread puts them together again: guest memory is unmapped and faults anew"
    )
    source = "tuned realtime-virtual-host; kernel-parameters.txt (kvm.nx_huge_pages)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Off is wanted only where the processor does not have the bug."""
        if finding := not_a_host(situation):
            return finding
        if not host.is_there(_PARAMETER.path):
            return unreadable(host, _PARAMETER.path)
        if host.read(_PARAMETER.path) in _PARAMETER.good:
            return judge_parameter(host, _PARAMETER)
        bug = host.read(_BUG)
        if bug is None or not bug.startswith(("Not affected", "KVM:", "Processor vulnerable")):
            said = "absent" if bug is None else repr(bug[:60])
            return unknown(f"{_BUG}: {said}", "whether the processor has ITLB_MULTIHIT", "off")
        if bug != "Not affected":
            return not_applicable(f"the processor has ITLB_MULTIHIT ({bug}): the mitigation stays")
        return judge_parameter(host, _PARAMETER)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only where nothing is lost by it."""
        if host.read(_BUG) != "Not affected":
            return ()
        boot = Remedy(
            "V05-boot",
            "boot with kvm.nx_huge_pages=off",
            boot=(KernelParameter("kvm.nx_huge_pages", "off"),),
            rollback=Rollback.REBOOT,
        )
        return (written_now(self.id, _PARAMETER), boot)


CHECK = NxHugePages()
