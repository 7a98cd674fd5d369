from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kvm_guest.memory_returned import CHECK
from taut.host.situation import Role, Watched

VIRTIO0 = "/sys/bus/virtio/devices/virtio0"
INTERRUPTS = "/proc/interrupts"
NET = {"/sys/bus/virtio/devices/virtio1/device": "0x0001\n"}
BALLOON = {f"{VIRTIO0}/device": "0x0005\n", f"{VIRTIO0}/driver/module": ""}
GUEST = replace(POLL, role=Role.KVM_GUEST)


def row(n: int) -> str:
    return f" 32:  {n}  0 PCI-MSIX-0000:00:01.0   4-edge      virtio0-reporting_vq\n"


def test_a_guest_that_keeps_its_memory_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NET, GUEST).state is State.PASS


def test_free_page_reporting_fails_with_its_rate(tmp_path: Path) -> None:
    files = {**NET, **BALLOON, f"{VIRTIO0}/features": "0110010\n", INTERRUPTS: row(9)}
    watched = Watched(5.0, {INTERRUPTS: row(4)}, {INTERRUPTS: row(9)})

    finding = judge(CHECK, tmp_path, files, replace(GUEST, watched=watched))

    assert finding.state is State.FAIL
    assert "with free page reporting, 9 interrupts since boot, 5 while watched" in finding.observed
    assert "memballoon" in CHECK.propose(tree(tmp_path, {}), GUEST)[0].by_hand


def test_a_balloon_alone_fails_too(tmp_path: Path) -> None:
    files = {**BALLOON, f"{VIRTIO0}/features": "0110000\n"}

    assert "without free page" in judge(CHECK, tmp_path, files, GUEST).observed


def test_virtio_mem_fails(tmp_path: Path) -> None:
    files = {f"{VIRTIO0}/device": "0x0018\n", f"{VIRTIO0}/driver/module": ""}

    assert judge(CHECK, tmp_path, files, GUEST).observed == "virtio0: virtio-mem"


def test_a_balloon_without_a_driver_does_nothing(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {f"{VIRTIO0}/device": "0x0005\n"}, GUEST).state is State.PASS


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path / "none", {}, GUEST).state is State.UNKNOWN
    odd = {f"{VIRTIO0}/device": "balloon\n"}
    assert judge(CHECK, tmp_path / "odd", odd, GUEST).state is State.UNKNOWN


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, BALLOON).state is State.NOT_APPLICABLE
