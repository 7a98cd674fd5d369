from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, put, remedied, tree
from taut.host.check import State
from taut.host.checks.hardware.pcie_aspm import CHECK
from taut.host.situation import Role

POLICY = "/sys/module/pcie_aspm/parameters/policy"
LSPCI = "/commands/lspci -vv -s 0000:3b:00.0"
LINK = "/sys/class/net/eth0/device/link"
ETH0 = replace(POLL, interfaces=("eth0",))
GUEST = replace(ETH0, role=Role.KVM_GUEST)


def with_device(root: Path, device: str, files: Mapping[str, str]) -> dict[str, str]:
    """Make eth0 a device as /sys does: by a link."""
    put(root, f"/sys/devices/{device}/uevent", "")
    folder = root / "sys/class/net/eth0"
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(f"../../../devices/{device}")
    return dict(files)


def test_a_link_that_never_sleeps_passes(tmp_path: Path) -> None:
    files = {f"{LINK}/l0s_aspm": "0\n", f"{LINK}/l1_aspm": "0\n", f"{LINK}/clkpm": "1\n"}

    assert judge(CHECK, tmp_path, files, ETH0).state is State.PASS


def test_a_link_that_sleeps_fails_and_is_kept_awake(tmp_path: Path) -> None:
    files = {f"{LINK}/l1_aspm": "1\n", f"{LINK}/l0s_aspm": "0\n"}

    finding = judge(CHECK, tmp_path, files, ETH0)

    assert finding.state is State.FAIL
    assert "eth0: l1_aspm" in finding.observed
    with remedied(CHECK, tmp_path, ETH0) as remedies:
        assert [change.setting.name for change in remedies[0].changes] == [f"{LINK}/l1_aspm"]
        assert str(remedies[1].boot[0]) == "pcie_aspm.policy=performance"


def test_lspci_tells_where_the_kernel_shows_no_switch(tmp_path: Path) -> None:
    said = "\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+\n"
    files = with_device(tmp_path, "0000:3b:00.0", {POLICY: "[default] performance\n", LSPCI: said})

    finding = judge(CHECK, tmp_path, files, ETH0)

    assert finding.state is State.FAIL
    assert "ASPM L1 Enabled" in finding.observed
    (now, _) = CHECK.propose(tree(tmp_path, {}), ETH0)
    assert now.changes[0].setting.name == POLICY
    put(tmp_path, LSPCI, said.replace("L1 Enabled", "Disabled"))
    assert judge(CHECK, tmp_path, {}, ETH0).state is State.PASS


def test_the_policy_alone_is_believed_only_when_it_is_performance(tmp_path: Path) -> None:
    files = with_device(tmp_path, "0000:3b:00.0", {POLICY: "default [performance] powersave\n"})

    assert judge(CHECK, tmp_path, files, ETH0).state is State.PASS
    default = judge(CHECK, tmp_path, {POLICY: "[default] performance powersave\n"}, ETH0)
    assert default.state is State.UNKNOWN
    assert "lspci -vv" in default.needs


def test_virtual_nics_have_no_link_and_passed_through_ones_are_the_hosts(tmp_path: Path) -> None:
    with_device(tmp_path / "a", "virtio2", {})
    with_device(tmp_path / "b", "0000:3b:00.0", {})

    assert judge(CHECK, tmp_path / "a", {}, GUEST).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path / "b", {}, GUEST).state is State.UNKNOWN


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path / "none", {}).state is State.UNKNOWN
    odd = {f"{LINK}/l1_aspm": "maybe\n", POLICY: "none of these\n"}
    assert judge(CHECK, tmp_path / "odd", odd, ETH0).state is State.UNKNOWN
