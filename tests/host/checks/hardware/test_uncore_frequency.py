from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.hardware.uncore_frequency import CHECK
from taut.host.situation import Role

FOLDER = "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00"
LEAST = f"{FOLDER}/min_freq_khz"
MOST = f"{FOLDER}/max_freq_khz"


def test_one_frequency_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {LEAST: "2400000\n", MOST: "2400000\n"}).state is State.PASS


def test_a_range_fails_and_becomes_its_highest(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {LEAST: "800000\n", MOST: "2400000\n"})

    assert finding.state is State.FAIL
    assert "800000 to 2400000" in finding.observed
    with remedied(CHECK, tmp_path) as remedies:
        assert remedies[0].changes[0].wanted == "2400000"


def test_absent_is_unknown_with_the_module_to_load(tmp_path: Path) -> None:
    assert "intel_uncore_frequency" in judge(CHECK, tmp_path, {}).needs


def test_what_is_no_number_is_unknown_and_not_written(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {LEAST: "slow\n", MOST: "fast\n"})

    assert finding.state is State.UNKNOWN
    assert CHECK.propose(tree(tmp_path, {}), POLL) == ()


def test_other_processors(tmp_path: Path) -> None:
    amd = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
    arm = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert "APBDIS" in judge(CHECK, tmp_path, {}, amd).needs
    assert judge(CHECK, tmp_path, {}, arm).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {}, guest).state is State.NOT_APPLICABLE
