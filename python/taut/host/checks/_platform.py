"""The machine below: whether it is ours, and which of its devices carry packets."""

import re
from dataclasses import dataclass
from typing import NoReturn

from taut.host.situation import Role
from taut.host.table import BARE
from taut.host.view import View

_USER_SPACE_DRIVERS = ("vfio-pci", "uio_pci_generic", "igb_uio")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NETWORK_CLASS = "0x02"


@dataclass(frozen=True)
class Nic:
    """A network device: an interface of the kernel, or one that a program drives itself."""

    name: str
    folder: str
    """Folder of its device in /sys."""
    address: str
    """PCI address; empty for a virtio device and other buses."""


def need_platform(
    see: View,
    why: str = "firmware and platform are the host's: audit them there",
    roles: frozenset[Role] = BARE,
) -> None:
    """Raise CannotJudge in a guest, whatever its role, and in roles that the check is not for.

    A row that calls this has EVERYWHERE as its roles, so that a guest is told why.
    """
    if see.is_guest:
        see.skip(why)
    if see.role not in roles:
        see.skip(f"not asked of a {see.role}")


def hidden(see: View, what: str) -> NoReturn:
    """Raise CannotJudge for what matters in a guest and can only be seen on its host."""
    needs = "not visible in a guest; run taut host audit on the host"
    see.cannot_tell(f"{what}: what a guest reads proves nothing", needs)


def count(text: str | None) -> int | None:
    """Read a whole number that counts something; None: the text is none."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,20}", text) else None


def nics(see: View) -> list[Nic]:
    """Devices that carry the traffic: the named interfaces, and those DPDK may drive."""
    found = []
    for name in see.situation.interfaces:
        folder = f"/sys/class/net/{name}/device"
        if see.is_there(folder):
            target = see.host.link_target(folder) or ""
            found.append(Nic(name, folder, target if _PCI_ADDRESS.fullmatch(target) else ""))
    for driver in _USER_SPACE_DRIVERS:
        for address in see.names(f"/sys/bus/pci/drivers/{driver}"):
            folder = f"/sys/bus/pci/devices/{address}"
            kind = see.read(f"{folder}/class") or ""
            if _PCI_ADDRESS.fullmatch(address) and kind.startswith(_NETWORK_CLASS):
                found.append(Nic(address, folder, address))
    return found
