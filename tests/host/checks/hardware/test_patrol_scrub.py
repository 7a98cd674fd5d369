from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.hardware.patrol_scrub import CHECK
from taut.host.situation import Role

RATE = "/sys/devices/system/edac/mc/mc0/sdram_scrub_rate"
DMESG = "/commands/dmesg"
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))


def test_the_lowest_rate_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {RATE: "761\n"}, AMD).state is State.PASS
    assert judge(CHECK, tmp_path, {RATE: "0\n"}, AMD).state is State.PASS


def test_a_fast_scrub_fails_and_slows_down_but_never_stops(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {RATE: "97650000\n"}, AMD).state is State.FAIL

    with remedied(CHECK, tmp_path, AMD) as remedies:
        assert remedies[0].changes[0].wanted == "761"


def test_firmware_first_logging_fails_and_is_for_the_bios(tmp_path: Path) -> None:
    said = "[    1.2] HEST: Enabling Firmware First mode for corrected errors.\n"

    finding = judge(CHECK, tmp_path, {RATE: "0\n", DMESG: said})

    assert finding.state is State.FAIL
    (remedy,) = CHECK.remedies(tree(tmp_path, {}), POLL)
    assert "BIOS" in remedy.by_hand and not remedy.changes


def test_other_controllers_do_not_tell_their_lowest_rate(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {RATE: "97650000\n"}).state is State.UNKNOWN


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, AMD).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {RATE: "-1\n"}, AMD).state is State.UNKNOWN


def test_a_guest_scrubs_nothing(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {RATE: "9\n"}, guest).state is State.NOT_APPLICABLE
