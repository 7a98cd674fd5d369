from pathlib import Path

import pytest

from guest_tree import KVM_HOST, guest, memory
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_host.memory_taken_back import CHECK
from taut.host.host import Host

KSM = "/sys/kernel/mm/ksm/run"
BALLOON = ("-device", "virtio-balloon-pci,id=balloon0")


@pytest.mark.parametrize(
    "files", [guest(), guest() | {KSM: "0\n"}, guest("-machine", "q35,mem-merge=off") | {KSM: "1"}]
)
def test_a_guest_that_keeps_its_pages_passes(tmp_path: Path, files: dict[str, str]) -> None:
    finding = judge(CHECK, tmp_path, files, KVM_HOST)

    assert finding.state is State.PASS
    assert "dirty logging" in finding.observed


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (guest() | {KSM: "1\n"}, f"{KSM} = 1"),
        (guest(*BALLOON), "guest web: balloon"),
        (guest(status=memory(0, 100, swap_kib=2048)), "guest web: 2048 kB in swap"),
    ],
)
def test_what_takes_pages_fails(tmp_path: Path, files: dict[str, str], said: str) -> None:
    finding = judge(CHECK, tmp_path, files, KVM_HOST)

    assert finding.state is State.FAIL
    assert said in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), KVM_HOST)
    assert "memballoon" in remedy.by_hand


def test_odd_contents_are_not_taken_for_merging(tmp_path: Path) -> None:
    files = guest(status="VmSwap:\n") | {KSM: "often\n"}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


def test_without_a_guest_or_in_another_role(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, KVM_HOST).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, guest(), POLL).state is State.NOT_APPLICABLE
