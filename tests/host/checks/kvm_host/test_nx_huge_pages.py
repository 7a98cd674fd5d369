from pathlib import Path

import pytest

from guest_tree import KVM_HOST
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.kvm_host.nx_huge_pages import CHECK
from taut.host.host import Host

PATH = "/sys/module/kvm/parameters/nx_huge_pages"
BUG = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"
SOUND = {BUG: "Not affected\n"}


@pytest.mark.parametrize("text", ["N\n", "never\n"])
def test_off_passes(tmp_path: Path, text: str) -> None:
    assert judge(CHECK, tmp_path, SOUND | {PATH: text}, KVM_HOST).state is State.PASS


def test_on_fails_where_the_processor_is_sound_and_is_remedied(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, SOUND | {PATH: "Y\n"}, KVM_HOST).state is State.FAIL

    with remedied(CHECK, tmp_path, KVM_HOST) as remedies:
        assert [remedy.id for remedy in remedies] == ["V05-now", "V05-boot"]


@pytest.mark.parametrize("bug", ["KVM: Mitigation: Split huge pages", "Processor vulnerable"])
def test_a_needed_mitigation_stays(tmp_path: Path, bug: str) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "Y\n", BUG: f"{bug}\n"}, KVM_HOST)

    assert finding.state is State.NOT_APPLICABLE
    assert "the mitigation stays" in finding.observed
    assert CHECK.propose(Host(tmp_path), KVM_HOST) == ()


@pytest.mark.parametrize("bug", [{}, {BUG: "who knows\n"}])
def test_whether_it_is_needed_may_be_unknown(tmp_path: Path, bug: dict[str, str]) -> None:
    finding = judge(CHECK, tmp_path, bug | {PATH: "Y\n"}, KVM_HOST)

    assert finding.state is State.UNKNOWN
    assert "ITLB_MULTIHIT" in finding.needs


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, SOUND, KVM_HOST).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {PATH: "?\n"}, KVM_HOST).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, SOUND | {PATH: "Y\n"}, POLL).state is State.NOT_APPLICABLE
