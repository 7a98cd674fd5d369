from pathlib import Path

import pytest

from guest_tree import KVM_HOST
from host_tree import POLL, judge
from taut.host.boot.item import ModuleOption
from taut.host.check import State
from taut.host.checks.kvm_host.pause_exits import CHECK
from taut.host.host import Host

PATH = "/sys/module/kvm_intel/parameters/ple_gap"


@pytest.mark.parametrize(("text", "state"), [("0\n", State.PASS), ("128\n", State.FAIL)])
def test_it_is_judged_as_the_module_shows_it(tmp_path: Path, text: str, state: State) -> None:
    finding = judge(CHECK, tmp_path, {PATH: text}, KVM_HOST)

    assert finding.state is state
    assert finding.observed == f"{PATH} = {text.strip()}"


def test_the_remedy_is_an_option_of_the_module_and_a_reload_by_hand(tmp_path: Path) -> None:
    judge(CHECK, tmp_path, {PATH: "128\n"}, KVM_HOST)

    boot, by_hand = CHECK.propose(Host(tmp_path), KVM_HOST)

    assert (boot.id, by_hand.id) == ("V03-boot", "V03-by-hand")
    assert boot.boot == (ModuleOption("kvm_intel", "ple_gap", "0"),)
    assert "with no guest running" in by_hand.by_hand


def test_without_the_module_there_is_nothing_to_judge(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, KVM_HOST)

    assert finding.state is State.NOT_APPLICABLE
    assert "not loaded" in finding.observed


def test_what_is_neither_number_nor_switch_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "perhaps\n"}, KVM_HOST).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "128\n"}, POLL).state is State.NOT_APPLICABLE


def test_amd_counts_pauses_instead(tmp_path: Path) -> None:
    path = "/sys/module/kvm_amd/parameters/pause_filter_count"

    finding = judge(CHECK, tmp_path, {path: "3000\n"}, KVM_HOST)

    assert finding.state is State.FAIL
    assert finding.wanted == "pause_filter_count = 0"
