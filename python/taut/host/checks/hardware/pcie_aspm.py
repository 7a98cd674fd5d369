"""HW12: whether the NIC's PCIe link sleeps."""

import re
from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.hardware._shape import FIRMWARE, Nic, hidden, is_guest, nics, not_asked
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

_POLICY = "/sys/module/pcie_aspm/parameters/policy"
_WANTED = "no sleep states on the NIC's link"
_CONTROL = re.compile(r"LnkCtl:\s*ASPM (\w[^;]*)")


class _PcieAspm(Check):
    id = "HW12"
    title = "PCIe link power states"
    fault = "PCIe links may sleep"
    severity = Severity.MAJOR
    why = (
        "a link that sleeps between packets takes microseconds to tens of microseconds to wake, "
        "most of all at low rates"
    )
    source = "kernel-parameters.txt; Intel NFV-I host configuration (2018); size not verified"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look at each NIC's link; at the policy where no link can be seen."""
        if (finding := not_asked(situation, {*FIRMWARE, Role.KVM_GUEST})) is not None:
            return finding
        found = nics(host, situation)
        if not found:
            return unknown("no NIC found", "name it with --interface", _WANTED)
        if is_guest(situation):
            if not any(nic.address for nic in found):
                return not_applicable("virtual NICs only: they have no PCIe link")
            return hidden("PCIe link", _WANTED)
        states = {nic.name: _sleeps(host, nic) for nic in found}
        asleep = [f"{name}: {', '.join(on)}" for name, on in states.items() if on]
        if asleep:
            return failed(f"link may sleep: {'; '.join(asleep)}", _WANTED)
        names = " ".join(states)
        if all(on is not None for on in states.values()):
            return passed(f"{names}: link never sleeps", _WANTED)
        policy = _policy(host)
        if policy == "performance":
            return passed(f"policy performance ({names})", _WANTED)
        unseen = " ".join(name for name, on in states.items() if on is None)
        return unknown(
            f"{unseen}: link states not shown; policy {policy or 'not shown'}",
            "as root: lspci -vv, line LnkCtl of the NIC",
            _WANTED,
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Keep each link awake; the policy at boot, for devices may change their names."""
        found = nics(host, situation)
        changes = [
            Change(FileSetting(path, "number"), "0")
            for nic in found
            for path in _switches(host, nic)
            if host.read(path) == "1"
        ]
        if not changes and _policy(host) not in (None, "performance"):
            changes = [Change(FileSetting(_POLICY, "choice"), "performance")]
        boot = Remedy(
            "HW12-boot",
            "boot with links that never sleep",
            boot=(KernelParameter("pcie_aspm.policy", "performance"),),
            risk="pcie_aspm=off, often advised, leaves what the firmware has switched on",
            cost="a few watts per device",
        )
        if not changes:
            return (boot,)
        now = Remedy(
            "HW12-now",
            "keep the NICs' links awake",
            changes=changes,
            cost="about a watt per device",
        )
        return (now, boot)


def _sleeps(host: Host, nic: Nic) -> list[str] | None:
    """Sleep states that are on; None: the kernel does not show them."""
    switches = {path: host.read(path) for path in _switches(host, nic)}
    if switches and all(value in ("0", "1") for value in switches.values()):
        return [path.rpartition("/")[2] for path, value in switches.items() if value == "1"]
    if not nic.address:
        return None
    shown = _CONTROL.search(host.command("lspci", "-vv", "-s", nic.address) or "")
    if shown is None:
        return None
    return [] if shown[1].startswith("Disabled") else [f"ASPM {shown[1]}"]


def _switches(host: Host, nic: Nic) -> list[str]:
    """Files of the kernel since 5.5: l0s_aspm, l1_aspm, l1_1_aspm ..."""
    folder = f"{nic.folder}/link"
    return [f"{folder}/{name}" for name in host.names(folder) if name.endswith("_aspm")]


def _policy(host: Host) -> str | None:
    chosen = re.search(r"\[(\w+)\]", host.read(_POLICY) or "")
    return chosen[1] if chosen else None


CHECK = _PcieAspm()
