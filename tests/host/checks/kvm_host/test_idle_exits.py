from pathlib import Path

from guest_tree import KVM_HOST, PID, guest
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_host.idle_exits import CHECK
from taut.host.host import Host


def test_a_guest_that_idles_by_itself_passes(tmp_path: Path) -> None:
    files = guest("-overcommit", "mem-lock=on,cpu-pm=on")

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


def test_a_guest_that_exits_fails_and_the_remedy_names_the_option(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest("-overcommit", "mem-lock=on"), KVM_HOST)

    assert finding.state is State.FAIL
    assert "guest web: no cpu-pm=on" in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), KVM_HOST)
    assert "-overcommit cpu-pm=on" in remedy.by_hand


def test_another_monitor_or_no_right_to_read_is_unknown(tmp_path: Path) -> None:
    files = guest() | {f"/proc/{PID}/cmdline": ""}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.UNKNOWN


def test_without_a_guest_or_in_another_role(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, KVM_HOST).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, guest(), POLL).state is State.NOT_APPLICABLE
