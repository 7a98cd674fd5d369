from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.audit_rules import CHECK

STATUS = "/commands/auditctl -s"
RULES = "/commands/auditctl -l"


def test_disabled_auditing_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {STATUS: "enabled 0\nfailure 1\n"}).state is State.PASS


def test_enabled_without_rules_passes(tmp_path: Path) -> None:
    files = {STATUS: "enabled 1\n", RULES: "No rules\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_rules_fail_and_are_left_to_people(tmp_path: Path) -> None:
    rules = "-a always,exit -S execve\n-w /etc/passwd -p wa\n"

    finding = judge(CHECK, tmp_path, {STATUS: "enabled 2\n", RULES: rules})

    assert finding.state is State.FAIL
    assert "2 rules" in finding.observed
    assert "locked" in finding.observed
    by_hand, boot = CHECK.propose(tree(tmp_path, {}), POLL)
    assert "auditctl -e 0" in by_hand.by_hand
    assert str(boot.boot[0]) == "audit=0"
    assert boot.profile is Profile.EXTREME
    assert "compliance" in boot.cost


def test_the_parameter_needs_no_auditctl(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {"/proc/cmdline": "audit=0\n"}).state is State.PASS


def test_a_kernel_without_audit_has_nothing_to_judge(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/osrelease": "6.12\n",
        "/boot/config-6.12": "# CONFIG_AUDIT is not set\n",
    }

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_without_auditctl_it_is_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {"/proc/cmdline": "quiet\n"})

    assert finding.state is State.UNKNOWN
    assert "auditctl" in finding.needs


def test_malformed_or_half_an_answer_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {STATUS: "enabled maybe\n"}).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {STATUS: "enabled 1\n"}).state is State.UNKNOWN
