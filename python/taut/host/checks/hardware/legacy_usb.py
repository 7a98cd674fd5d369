"""HW07: USB keyboards that firmware shows as PS/2."""

from collections.abc import Sequence

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
from taut.host.checks.hardware._shape import not_ours
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "legacy USB and port 60/64 emulation off"
_CLASSES = "/sys/bus/pci/devices/*/class"
_USB_CLASS = "0x0c03"
# Of EHCI, OHCI, UHCI and xHCI: firmware did not let go of the controller (drivers/usb/host).
_KEPT = "BIOS handoff failed"


class _LegacyUsb(Check):
    id = "HW07"
    title = "legacy USB emulation"
    fault = "The BIOS did not hand over a USB controller"
    severity = Severity.MAJOR
    why = "firmware that emulates a PS/2 keyboard takes an SMI for USB events and port accesses"
    source = "Intel NFV-I host configuration (2018)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for controllers, and for one that firmware did not hand over."""
        if (finding := not_ours(situation)) is not None:
            return finding
        if not situation.machine.is_x86:
            return not_applicable("only x86 firmware emulates PS/2")
        for line in (host.command("dmesg") or "").splitlines():
            if _KEPT in line:
                return failed(f"kernel: {line.partition('] ')[2] or line}", _WANTED)
        classes = [host.read(path) or "" for path in host.paths(_CLASSES)]
        if not classes:
            return unknown("no PCI devices visible", "a mounted /sys", _WANTED)
        controllers = sum(kind.startswith(_USB_CLASS) for kind in classes)
        if controllers == 0:
            return passed("no USB controller", _WANTED)
        return unknown(
            f"{controllers} USB controllers, handed over by firmware as far as the kernel says",
            "look in the BIOS; indirectly: count SMIs (HW04)",
            _WANTED,
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the BIOS."""
        return (
            Remedy(
                "HW07-by-hand",
                "switch legacy USB off",
                by_hand="in the BIOS: legacy USB support and port 60/64 emulation off",
                cost="on some boards no keyboard before the kernel runs",
            ),
        )


CHECK = _LegacyUsb()
