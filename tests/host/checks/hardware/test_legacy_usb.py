from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.legacy_usb import CHECK
from taut.host.situation import Role

NIC = {"/sys/bus/pci/devices/0000:3b:00.0/class": "0x020000\n"}
XHCI = {"/sys/bus/pci/devices/0000:00:14.0/class": "0x0c0330\n"}
DMESG = "/commands/dmesg"


def test_a_machine_without_usb_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NIC).state is State.PASS


def test_a_controller_firmware_kept_fails(tmp_path: Path) -> None:
    said = "[    1.0] pci 0000:00:1a.7: EHCI: BIOS handoff failed (BIOS bug?) 01010001\n"

    finding = judge(CHECK, tmp_path, {**XHCI, DMESG: said})

    assert finding.state is State.FAIL
    assert finding.observed.startswith("kernel: pci 0000:00:1a.7")
    assert "BIOS" in CHECK.propose(tree(tmp_path, {}), POLL)[0].by_hand


def test_a_controller_that_was_handed_over_may_still_be_emulated(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {**NIC, **XHCI})

    assert finding.state is State.UNKNOWN
    assert "HW04" in finding.needs


def test_absent_or_odd_does_not_pass_for_a_usb_controller(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_arm_and_guests_are_not_asked(tmp_path: Path) -> None:
    arm = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))
    guest = replace(POLL, role=Role.KVM_GUEST)

    for situation in (arm, guest):
        assert judge(CHECK, tmp_path, XHCI, situation).state is State.NOT_APPLICABLE
