"""What the checks of this group share: whose firmware it is, and which devices carry packets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from taut.host.check import Finding, not_applicable, unknown
from taut.host.host import Host
from taut.host.situation import Role, Situation

FIRMWARE = frozenset({Role.POLL_CORE, Role.KVM_HOST})
"""B and V of the catalogue: the machine below is ours."""

ON_THE_HOST = "not visible in a guest; run taut host audit on the host"

_USER_SPACE_DRIVERS = ("vfio-pci", "uio_pci_generic", "igb_uio")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NETWORK_CLASS = "0x02"


@dataclass(frozen=True)
class Nic:
    """A network device: an interface of the kernel, or one that a program drives itself."""

    name: str
    folder: str
    """Of its device in /sys."""
    address: str
    """Of PCI; empty for a virtio device and other buses."""


def is_guest(situation: Situation) -> bool:
    """Whether firmware, siblings and frequencies are those of a machine below."""
    return situation.role is Role.KVM_GUEST or situation.machine.hypervisor is not None


def not_asked(situation: Situation, roles: Iterable[Role]) -> Finding | None:
    """Say that the catalogue wants nothing for this role; None: judge."""
    if situation.role in roles:
        return None
    return not_applicable(f"not asked of a {situation.role}")


def not_ours(situation: Situation) -> Finding | None:
    """For what only the owner of the firmware can see or set; None: judge."""
    if is_guest(situation):
        return not_applicable("firmware and platform are the host's: audit them there")
    return not_asked(situation, FIRMWARE)


def hidden(what: str, wanted: str) -> Finding:
    """For what matters in a guest and can only be seen on its host."""
    return unknown(f"{what}: what a guest reads proves nothing", ON_THE_HOST, wanted)


def count(text: str | None) -> int | None:
    """Read a number that counts something; None: it is none."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,20}", text) else None


def nics(host: Host, situation: Situation) -> list[Nic]:
    """Devices that carry the traffic: the named interfaces, and those DPDK may drive."""
    found = []
    for name in situation.interfaces:
        folder = f"/sys/class/net/{name}/device"
        if host.is_there(folder):
            target = host.link_target(folder) or ""
            found.append(Nic(name, folder, target if _PCI_ADDRESS.fullmatch(target) else ""))
    for driver in _USER_SPACE_DRIVERS:
        for address in host.names(f"/sys/bus/pci/drivers/{driver}"):
            folder = f"/sys/bus/pci/devices/{address}"
            kind = host.read(f"{folder}/class") or ""
            if _PCI_ADDRESS.fullmatch(address) and kind.startswith(_NETWORK_CLASS):
                found.append(Nic(address, folder, address))
    return found
