from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.smi_rate import CHECK
from taut.host.situation import Role

COUNTED = "/commands/perf stat -a -x, -e msr_smi_ sleep 60"


def test_a_copied_machine_without_smis_passes(tmp_path: Path) -> None:
    files = {COUNTED: "0,,msr/smi/,60000000,100.00,,\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_a_copied_machine_with_smis_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {COUNTED: "12,,msr/smi/,60000000,100.00,,\n"})

    assert finding.state is State.FAIL
    assert "12 SMIs" in finding.observed
    assert "BIOS" in CHECK.propose(tree(tmp_path, {}), POLL)[0].by_hand


def test_the_audit_itself_counts_nothing_and_says_how(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {})

    assert finding.state is State.UNKNOWN
    assert "perf stat -a -x, -e msr/smi/ sleep 60" in finding.needs


def test_what_perf_could_not_count_is_unknown(tmp_path: Path) -> None:
    files = {COUNTED: "<not supported>,,msr/smi/,0,100.00,,\n"}

    assert judge(CHECK, tmp_path, files).state is State.UNKNOWN


def test_a_guests_zero_proves_nothing(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    finding = judge(CHECK, tmp_path, {COUNTED: "0,,msr/smi/,60000000,100.00,,\n"}, guest)

    assert finding.state is State.UNKNOWN
    assert "on the host" in finding.needs


def test_a_container_leaves_the_count_to_its_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, {}, container).state is State.UNKNOWN


def test_amd_counts_by_another_name_and_arm_has_none(tmp_path: Path) -> None:
    amd = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
    arm = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))

    assert "ls_smi_rx" in judge(CHECK, tmp_path, {}, amd).needs
    assert judge(CHECK, tmp_path, {}, arm).state is State.NOT_APPLICABLE
