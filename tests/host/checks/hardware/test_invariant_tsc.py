from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.invariant_tsc import CHECK
from taut.host.situation import Role

CPUINFO = "/proc/cpuinfo"
AVAILABLE = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
ALL = "flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_deadline_timer tsc_known_freq\n"
BARE = "flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_deadline_timer\n"
GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="KVM"))
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
ARM = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))


def test_all_flags_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CPUINFO: ALL}).state is State.PASS


def test_a_counter_that_stops_fails_by_name(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {CPUINFO: "flags : fpu tsc constant_tsc tsc_deadline_timer"})

    assert finding.state is State.FAIL
    assert finding.observed == "absent: nonstop_tsc"


def test_only_a_guest_must_be_told_the_rate(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CPUINFO: BARE}).state is State.PASS
    assert judge(CHECK, tmp_path, {CPUINFO: BARE}, GUEST).observed == "absent: tsc_known_freq"

    (remedy,) = CHECK.propose(tree(tmp_path, {}), GUEST)
    assert "invtsc" in remedy.by_hand


def test_amd_has_no_deadline_timer_and_passes(tmp_path: Path) -> None:
    files = {CPUINFO: "flags : fpu tsc constant_tsc nonstop_tsc\n"}

    assert judge(CHECK, tmp_path, files, AMD).state is State.PASS
    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_arm_is_judged_by_its_clocksource(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, ARM).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {AVAILABLE: "arch_sys_counter \n"}, ARM).state is State.PASS
    assert judge(CHECK, tmp_path, {AVAILABLE: "jiffies \n"}, ARM).state is State.FAIL


def test_without_a_list_of_flags_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {CPUINFO: "flags : \x00?\n"}).state is State.UNKNOWN
