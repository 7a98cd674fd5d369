from pathlib import Path

import pytest

from guest_tree import KVM_HOST, PID, guest, memory
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_host.guest_memory import CHECK

SWAP = {"/proc/swaps": "Filename Type Size Used Priority\n/swap file 1 0 -2\n"}


def test_all_memory_in_hugepages_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest(status=memory(2048, 60)), KVM_HOST)

    assert finding.state is State.PASS
    assert "guest web: 2048 MiB in hugepages, 60 MiB in other pages" in finding.observed


def test_none_or_a_part_in_hugepages_fails(tmp_path: Path) -> None:
    for huge in (0, 512):
        files = guest(status=memory(huge, 2000))

        assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.FAIL


def test_swap_under_a_guest_that_is_not_locked_fails(tmp_path: Path) -> None:
    loose = guest(status=memory(2048, 60)) | SWAP
    locked = guest(status=memory(2048, 60, locked_kib=4096)) | SWAP

    assert "not locked" in judge(CHECK, tmp_path, loose, KVM_HOST).observed
    assert judge(CHECK, tmp_path, locked, KVM_HOST).state is State.PASS


@pytest.mark.parametrize("size", ["2G", "2048", "size=2097152k,slots=4", "2048M"])
def test_the_size_is_read_as_qemu_writes_it(tmp_path: Path, size: str) -> None:
    files = guest(status=memory(1500, 60))
    files[f"/proc/{PID}/cmdline"] = f"qemu-system-x86_64\0-m\0{size}\0"

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.FAIL


def test_without_a_size_hugepages_outweigh_the_rest(tmp_path: Path) -> None:
    files = guest(status=memory(1500, 60))
    files[f"/proc/{PID}/cmdline"] = "qemu-system-x86_64\0-m\0plenty\0"

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


@pytest.mark.parametrize("status", ["", "VmLck: much\nVmRSS: 1 kB\nHugetlbPages: 1 kB\n"])
def test_sizes_that_are_not_told_are_unknown(tmp_path: Path, status: str) -> None:
    finding = judge(CHECK, tmp_path, guest(status=status), KVM_HOST)

    assert finding.state is State.UNKNOWN
    assert "root" in finding.needs


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, guest(), POLL).state is State.NOT_APPLICABLE
