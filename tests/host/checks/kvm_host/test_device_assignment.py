from pathlib import Path

from guest_tree import KVM_HOST, PID, guest
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_host.device_assignment import CHECK
from taut.host.host import Host


def test_a_virtual_function_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest("-device", "vfio-pci,host=0000:3b:02.0"), KVM_HOST)

    assert finding.state is State.PASS
    assert "guest web: vfio-pci" in finding.observed


def test_a_paravirtual_device_fails_however_it_is_written(tmp_path: Path) -> None:
    for text in ("virtio-net-pci,netdev=n0", '{"driver":"virtio-net-pci","netdev":"n0"}'):
        finding = judge(CHECK, tmp_path, guest("-device", text), KVM_HOST)

        assert finding.state is State.FAIL
        assert "guest web: virtio-net-pci" in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), KVM_HOST)
    assert "virtual function" in remedy.by_hand and remedy.measure


def test_a_guest_without_a_network_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, guest("-device", "pc"), KVM_HOST).state is State.NOT_APPLICABLE


def test_a_command_line_that_is_not_told_is_unknown(tmp_path: Path) -> None:
    files = guest() | {f"/proc/{PID}/cmdline": "\0\0"}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.UNKNOWN


def test_without_a_guest_or_in_another_role(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, KVM_HOST).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, guest(), POLL).state is State.NOT_APPLICABLE
