from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.power_profile import CHECK
from taut.host.situation import Role

DRIVER = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"
MAKER = "/sys/class/dmi/id/sys_vendor"
DMESG = "/commands/dmesg"


def test_firmware_that_sets_the_frequency_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {DRIVER: "pcc-cpufreq\n"})

    assert finding.state is State.FAIL
    assert "BIOS" in CHECK.propose(tree(tmp_path, {}), POLL)[0].by_hand


def test_firmware_that_keeps_the_p_states_fails(tmp_path: Path) -> None:
    files = {DMESG: "[    2.4] intel_pstate: P-states controlled by the platform\n"}

    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_a_profile_cannot_be_seen_but_its_maker_can_be_asked(tmp_path: Path) -> None:
    files = {DRIVER: "intel_pstate\n", MAKER: "Dell Inc.\n", DMESG: "[    0.0] Linux\n"}

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.UNKNOWN
    assert finding.needs.startswith("racadm ")


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {DRIVER: "\x00\n", MAKER: "-1\n"}).state is State.UNKNOWN


def test_a_guest_has_no_bios_to_set(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {}, guest).state is State.NOT_APPLICABLE
