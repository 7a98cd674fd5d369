from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_guest.unexplained_gaps import CHECK
from taut.host.situation import Role

GUEST = replace(POLL, role=Role.KVM_GUEST)


def test_an_audit_says_how_to_measure_them(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, GUEST)

    assert finding.state is State.UNKNOWN
    assert "taut host noise --cores 2-3" in finding.needs


def test_without_cores_it_leaves_a_blank_for_them(tmp_path: Path) -> None:
    assert "--cores LIST" in judge(CHECK, tmp_path, {}, replace(GUEST, cores=())).needs


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
