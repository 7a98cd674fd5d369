from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.patrol_scrub import CHECK
from taut.host.situation import Role

RATE = "/sys/devices/system/edac/mc/mc0/sdram_scrub_rate"
DMESG = "/commands/dmesg"
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))


def test_scrubbing_that_is_off_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {RATE: "0\n"}, AMD).state is State.PASS


def test_no_driver_tells_its_lowest_rate_and_none_is_written(tmp_path: Path) -> None:
    """What amd64_edac calls its lowest rate switches scrubbing off on Zen."""
    for situation in (AMD, POLL):
        for rate in ("761\n", "97650000\n"):
            finding = judge(CHECK, tmp_path, {RATE: rate}, situation)
            assert finding.state is State.UNKNOWN

        for remedy in CHECK.propose(tree(tmp_path, {}), situation):
            assert remedy.by_hand and not remedy.changes and not remedy.boot


def test_firmware_first_logging_fails_and_is_for_the_bios(tmp_path: Path) -> None:
    said = "[    1.2] HEST: Enabling Firmware First mode for corrected errors.\n"

    finding = judge(CHECK, tmp_path, {RATE: "0\n", DMESG: said})

    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert "BIOS" in remedy.by_hand and not remedy.changes


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, AMD).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {RATE: "-1\n"}, AMD).state is State.UNKNOWN


def test_a_guest_scrubs_nothing(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {RATE: "9\n"}, guest).state is State.NOT_APPLICABLE
