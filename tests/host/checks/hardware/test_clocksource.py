from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.hardware.clocksource import CHECK
from taut.host.situation import Role

FOLDER = "/sys/devices/system/clocksource/clocksource0"
CURRENT = f"{FOLDER}/current_clocksource"
AVAILABLE = f"{FOLDER}/available_clocksource"
DMESG = "/commands/dmesg"
UNSTABLE = (
    "[    7.1] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable "
    "because the skew is too large:\n"
)
GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="KVM"))


def test_the_tsc_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CURRENT: "tsc\n"}).state is State.PASS


def test_hpet_fails_and_the_tsc_is_chosen(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {CURRENT: "hpet\n", AVAILABLE: "tsc hpet acpi_pm \n"})

    assert finding.state is State.FAIL
    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["HW02-now", "HW02-boot"]
        assert str(remedies[1].boot[0]) == "clocksource=tsc"


def test_a_tsc_the_kernel_gave_up_is_never_forced(tmp_path: Path) -> None:
    files = {CURRENT: "hpet\n", AVAILABLE: "tsc hpet \n", DMESG: UNSTABLE}

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "Marking clocksource 'tsc' as unstable" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert remedy.by_hand and not remedy.changes and not remedy.boot


def test_a_tsc_that_was_forced_back_fails(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CURRENT: "tsc\n", DMESG: UNSTABLE}).state is State.FAIL


def test_kvm_clock_is_tolerated_in_a_guest_only(tmp_path: Path) -> None:
    files = {CURRENT: "kvm-clock\n"}

    finding = judge(CHECK, tmp_path, files, GUEST)

    assert finding.state is State.PASS
    assert "tolerated" in finding.observed
    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_a_container_can_only_ask_its_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    files = {CURRENT: "hpet\n", AVAILABLE: "tsc hpet \n"}

    assert judge(CHECK, tmp_path, files, container).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), container)
    assert remedy.by_hand.startswith("on the host") and not remedy.changes


def test_absent_or_odd_is_not_judged(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {CURRENT: "-1 ?\n"}).state is State.UNKNOWN
