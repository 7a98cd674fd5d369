from dataclasses import replace
from pathlib import Path

from guest_tree import KVM_HOST
from host_tree import POLL, judge, remedied
from taut.host.check import Severity, State
from taut.host.checks.kvm_host.halt_polling import CHECK
from taut.host.situation import Waiting

PATH = "/sys/module/kvm/parameters/halt_poll_ns"


def test_the_default_of_kvm_is_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "200000\n"}, KVM_HOST).state is State.PASS


def test_none_fails_and_is_remedied(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0\n"}, KVM_HOST).state is State.FAIL

    with remedied(CHECK, tmp_path, KVM_HOST) as remedies:
        assert [remedy.id for remedy in remedies] == ["V06-now", "V06-boot"]


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, KVM_HOST).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {PATH: "-1\n"}, KVM_HOST).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0\n"}, POLL).state is State.NOT_APPLICABLE


def test_it_is_major_where_the_guest_sleeps_for_its_packets(tmp_path: Path) -> None:
    sleeps = replace(KVM_HOST, waiting=frozenset({Waiting.SLEEPS}))

    assert judge(CHECK, tmp_path, {PATH: "0\n"}, KVM_HOST).severity is Severity.MINOR
    assert judge(CHECK, tmp_path, {PATH: "0\n"}, sleeps).severity is Severity.MAJOR
