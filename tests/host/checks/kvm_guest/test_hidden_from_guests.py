from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_guest.hidden_from_guests import CHECK
from taut.host.situation import Role


def test_a_guest_is_told_what_it_cannot_see_and_where_to_look(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, replace(POLL, role=Role.KVM_GUEST))

    assert finding.state is State.UNKNOWN
    for words in ("SMIs", "C-states", "interrupts", "SMT", "turbo", "cache allocation"):
        assert words in finding.observed
    assert "taut host audit on the host" in finding.needs


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
