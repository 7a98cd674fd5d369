"""V09: the guest's network device is a piece of hardware, not a program on the host."""

from collections.abc import Sequence

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
from taut.host.checks.kvm_host._shape import Guest, GuestCheck, options
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "a virtual function of the network card (vfio-pci)"
_EMULATED = ("virtio-net", "e1000", "rtl8139", "igb", "vmxnet3")


class DeviceAssignment(GuestCheck):
    """A card of its own needs no host core, no copy, and no notification."""

    id = "V09"
    title = "network device of the guest"
    fault = "Guests have emulated network devices"
    severity = Severity.MINOR
    why = (
        "a paravirtual device costs a host thread or a switch on every packet, and exits or "
        "notifications of microseconds; a virtual function is reached without any of them"
    )
    source = "Intel NFV-I host configuration (2018)"

    def judge(self, host: Host, situation: Situation, found: Sequence[Guest]) -> Finding:  # noqa: ARG002
        """By the command lines."""
        foreign = [guest for guest in found if not guest.is_qemu]
        if foreign:
            needs = "the definition of this guest: its monitor is not QEMU, or run as root"
            return unknown(f"{foreign[0]}: no command line of QEMU", needs, _WANTED)
        kinds = {str(guest): _kinds(guest) for guest in found}
        emulated = [f"{name}: {some(each[1])}" for name, each in kinds.items() if each[1]]
        assigned = [f"{name}: {some(each[0])}" for name, each in kinds.items() if each[0]]
        if emulated:
            return failed(some(emulated), _WANTED)
        return passed(some(assigned), _WANTED) if assigned else not_applicable("no guest has any")

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """A choice of design: taut says what it is worth, and measures it."""
        return (
            Remedy(
                f"{self.id}-by-hand",
                "give the guest a virtual function",
                by_hand="on this host: <hostdev mode='subsystem' type='pci' managed='yes'> with a"
                " virtual function of the card (/sys/class/net/CARD/device/sriov_numvfs)",
                profile=Profile.EXTREME,
                cost="no live migration; the host's switch no longer sees the packets",
                measure="vhost-user with a poll-mode switch comes close: compare both",
            ),
        )


def _kinds(guest: Guest) -> tuple[list[str], list[str]]:
    """Name what is assigned, and what is emulated."""
    words = [text.partition(",")[0] for text in options(guest, "-device")]
    # libvirt writes devices as JSON.
    names = [word.partition('"driver":"')[2].partition('"')[0] or word for word in words]
    assigned = [name for name in names if name.startswith("vfio-pci")]
    return assigned, [name for name in names if name.startswith(_EMULATED)]


CHECK = DeviceAssignment()
