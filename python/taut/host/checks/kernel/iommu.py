"""K24: how the IOMMU translates."""

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
    unknown,
)
from taut.host.checks.kernel._shape import RoleCheck, at_boot
from taut.host.host import Host
from taut.host.situation import Role, Situation

_UNITS = "/sys/class/iommu"
_GROUPS = "/sys/kernel/iommu_groups"
_WANTED = "passthrough (identity) for the host's own devices"


class Iommu(RoleCheck):
    """What counts is the type of the groups, whatever the command line says."""

    id = "K24"
    title = "IOMMU passes the host's devices through"
    fault = "The IOMMU translates for the host's devices"
    severity = Severity.MINOR
    why = (
        "where every buffer is mapped and unmapped the device's TLB is flushed, which stalls a "
        "driver in the kernel for microseconds; passed-through devices of programs do not care"
    )
    source = "Intel NFV-I (2018); NTO; kernel-parameters.txt (iommu=pt)"
    roles = frozenset({Role.POLL_CORE, Role.KVM_HOST})

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Look at the groups of the traffic's interfaces, else at all."""
        if not host.names(_UNITS) and not host.names(_GROUPS):
            return _judge_without(situation)
        paths = _paths(host, situation)
        types = {path: host.read(path) for path in paths}
        kinds = sorted({kind for kind in types.values() if kind})
        if not kinds:
            needs = f"a readable type in {_GROUPS}/N (Linux 5.11)"
            return unknown(f"{len(paths)} groups", needs, _WANTED)
        own = [path for path in paths if path in _of_interfaces(host, situation)]
        where = "groups of the interfaces" if own else f"{len(paths)} groups"
        observed = f"{where}: {' '.join(kinds)}"
        # Without an interface to ask for, some group that passes through shows the default;
        # devices with narrow addresses keep their translation in spite of it.
        is_good = kinds == ["identity"] if own else "identity" in kinds
        return passed(observed, _WANTED) if is_good else failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """At boot."""
        items = [KernelParameter("iommu", "pt")]
        if situation.machine.vendor == "intel":
            items.insert(0, KernelParameter("intel_iommu", "on"))
        if not situation.machine.is_x86:
            items = [KernelParameter("iommu.passthrough", "1")]
        return (
            at_boot(
                self.id,
                "pass the host's own devices through the IOMMU",
                *items,
                profile=Profile.EXTREME,
                risk="a broken or hostile device of the host can write anywhere in memory",
                cost="security: less isolation of the host's devices; those of programs keep it",
            ),
        )


def _judge_without(situation: Situation) -> Finding:
    if situation.role is Role.KVM_HOST:
        return failed("no IOMMU is on", f"on, {_WANTED}", fault="No device can be given to a guest")
    return not_applicable("no IOMMU is on: nothing is translated")


def _paths(host: Host, situation: Situation) -> list[str]:
    return _of_interfaces(host, situation) or host.paths(f"{_GROUPS}/*/type")


def _of_interfaces(host: Host, situation: Situation) -> list[str]:
    groups = (
        host.link_target(f"/sys/class/net/{name}/device/iommu_group")
        for name in situation.interfaces
    )
    return sorted({f"{_GROUPS}/{group}/type" for group in groups if group})


CHECK = Iommu()
