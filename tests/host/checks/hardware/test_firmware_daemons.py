from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.hardware.firmware_daemons import CHECK
from taut.host.situation import Role

FWUPD = "/commands/systemctl is-active fwupd-refresh.timer"
SMARTD = "/commands/systemctl is-active smartd.service"


def test_stopped_daemons_pass(tmp_path: Path) -> None:
    files = {FWUPD: "inactive\n", SMARTD: "inactive\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_running_daemons_fail_are_stopped_and_started_again(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {FWUPD: "active\n", SMARTD: "active\n"})

    assert finding.state is State.FAIL
    assert finding.observed == "active: fwupd-refresh.timer smartd.service"
    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["HW05-now", "HW05-boot"]
    assert [item.unit for item in remedies[1].boot] == ["fwupd-refresh.timer", "smartd.service"]


def test_without_systemd_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_an_odd_answer_is_not_running(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {FWUPD: "\x00?\n"}).state is State.PASS


def test_guests_and_containers_have_no_firmware(tmp_path: Path) -> None:
    guest = replace(POLL, machine=replace(BARE_METAL, hypervisor="KVM"))
    container = replace(POLL, role=Role.CONTAINER)

    for situation in (guest, container):
        finding = judge(CHECK, tmp_path, {FWUPD: "active\n"}, situation)
        assert finding.state is State.NOT_APPLICABLE
