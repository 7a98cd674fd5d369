from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.machine_checks import CHECK
from taut.host.situation import Role

FOLDER = "/sys/devices/system/machinecheck/machinecheck0"


def machine(ignore: str, interval: str, line: str = "quiet") -> dict[str, str]:
    return {
        f"{FOLDER}/ignore_ce": f"{ignore}\n",
        f"{FOLDER}/check_interval": f"{interval}\n",
        "/proc/cmdline": f"{line}\n",
    }


@pytest.mark.parametrize(("ignore", "interval"), [("1", "300"), ("0", "0"), ("1", "0")])
def test_either_switch_will_do(ignore: str, interval: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine(ignore, interval)).state is State.PASS


def test_polling_fails_and_is_stopped(tmp_path: Path) -> None:
    tree(tmp_path, machine("0", "300"))

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K18-now", "K18-boot"]
        assert {remedy.profile for remedy in remedies} == {Profile.EXTREME}
        assert str(remedies[1].boot[0]) == "mce=ignore_ce"


def test_machine_checks_turned_off_fail_and_are_turned_on_again(tmp_path: Path) -> None:
    files = machine("0", "0", "mce=off")

    assert judge(CHECK, tmp_path, files).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert not remedy.boot
    assert "remove mce=off" in remedy.by_hand


def test_nothing_ever_proposes_to_turn_them_off(tmp_path: Path) -> None:
    items = [item for remedy in CHECK.propose(tree(tmp_path, {}), POLL) for item in remedy.boot]

    assert "mce=off" not in map(str, items)


def test_a_machine_without_the_files_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine("0", "often")).state is State.UNKNOWN


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, machine("0", "300"), guest).state is State.NOT_APPLICABLE
