from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied
from taut.host.check import Profile, State
from taut.host.checks.runtime.machine_check_polling import CHECK
from taut.host.situation import Role

INTERVAL = "/sys/devices/system/machinecheck/machinecheck0/check_interval"
IGNORE = "/sys/devices/system/machinecheck/machinecheck0/ignore_ce"


def test_five_minutes_fail_and_are_remedied(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {INTERVAL: "300\n", IGNORE: "0\n"})
    assert finding.state is State.FAIL
    assert "300 s" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R20-now", "R20-boot"]
        assert {remedy.profile for remedy in remedies} == {Profile.EXTREME}


def test_either_switch_is_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {INTERVAL: "0\n", IGNORE: "0\n"}).state is State.PASS
    assert judge(CHECK, tmp_path, {INTERVAL: "300\n", IGNORE: "1\n"}).state is State.PASS


def test_without_the_file_or_in_a_guest_there_is_nothing_to_judge(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {INTERVAL: "300\n"}, guest).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {INTERVAL: "now and then\n"}).state is State.UNKNOWN
