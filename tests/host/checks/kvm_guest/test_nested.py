from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kvm_guest.nested import CHECK
from taut.host.situation import Role

DMESG = "/commands/dmesg"
CMDLINE = "/proc/cmdline"
GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="KVM"))


@pytest.mark.parametrize(
    "line",
    [
        "kvm-pvm: mmio caching disabled (nested host: MAXPHYADDR 48)",
        "Hyper-V: running on a nested hypervisor",
    ],
)
def test_a_kernel_that_noticed_fails(line: str, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {DMESG: f"[    0.3] {line}\n"}, GUEST)

    assert finding.state is State.FAIL
    assert finding.observed == f"kernel: {line}"
    assert CHECK.propose(tree(tmp_path, {}), GUEST)[0].by_hand


def test_a_kernel_that_was_told_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {CMDLINE: "quiet nested_pvm=1\n"}, GUEST)

    assert finding.observed == "command line: nested_pvm=1"


def test_what_is_about_guests_of_this_one_is_no_sign(tmp_path: Path) -> None:
    files = {
        CMDLINE: "kvm_intel.nested=1 kvm_amd.nested_foo=1\n",
        DMESG: "[    1.0] kvm_amd: Nested Virtualization enabled\n",
    }

    assert judge(CHECK, tmp_path, files, GUEST).state is State.UNKNOWN


def test_no_sign_proves_nothing(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, GUEST)

    assert finding.state is State.UNKNOWN
    assert "proves nothing" in finding.observed


def test_odd_contents_are_no_sign(tmp_path: Path) -> None:
    files = {CMDLINE: "\x00\xff\n", DMESG: "nested\n"}

    assert judge(CHECK, tmp_path, files, GUEST).state is State.UNKNOWN


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    forced = replace(POLL, role=Role.KVM_GUEST)
    assert judge(CHECK, tmp_path, {}, forced).state is State.NOT_APPLICABLE
