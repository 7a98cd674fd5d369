from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.iommu import CHECK
from taut.host.situation import Role

UNIT = {"/sys/class/iommu/dmar0/uevent": ""}
GROUPS = "/sys/kernel/iommu_groups"


def groups(*types: str) -> dict[str, str]:
    return UNIT | {f"{GROUPS}/{at}/type": f"{kind}\n" for at, kind in enumerate(types)}


def test_passthrough_passes_although_one_narrow_device_is_translated(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, groups("identity", "DMA")).state is State.PASS


def test_translation_fails_and_is_remedied_at_boot(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, groups("DMA", "DMA-FQ"))

    assert finding.state is State.FAIL
    assert "DMA-FQ" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert [str(item) for item in remedy.boot] == ["intel_iommu=on", "iommu=pt"]
    assert "security" in remedy.cost
    assert remedy.profile is Profile.EXTREME


def test_the_interfaces_group_decides_where_it_is_known(tmp_path: Path) -> None:
    tree(tmp_path, groups("identity", "DMA"))
    link = tmp_path / "sys/class/net/eth0/device/iommu_group"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../../kernel/iommu_groups/1")

    finding = judge(CHECK, tmp_path, {}, replace(POLL, interfaces=("eth0",)))

    assert finding.state is State.FAIL


def test_amd_has_it_on_by_default(tmp_path: Path) -> None:
    amd = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))

    (remedy,) = CHECK.propose(tree(tmp_path, {}), amd)

    assert [str(item) for item in remedy.boot] == ["iommu=pt"]


def test_without_one_a_host_of_guests_fails_and_others_have_nothing_to_judge(
    tmp_path: Path,
) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {}, replace(POLL, role=Role.KVM_HOST)).state is State.FAIL


def test_groups_without_a_type_are_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, UNIT).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, groups("")).state is State.UNKNOWN
