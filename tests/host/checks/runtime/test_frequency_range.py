from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.frequency_range import CHECK
from taut.host.host import Host
from taut.host.situation import Role

GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="kvm"))


def policy(core: int, low: str, high: str) -> dict[str, str]:
    folder = f"/sys/devices/system/cpu/cpufreq/policy{core}"
    return {
        f"{folder}/affected_cpus": f"{core}\n",
        f"{folder}/scaling_min_freq": f"{low}\n",
        f"{folder}/scaling_max_freq": f"{high}\n",
    }


def machine(low: str, high: str = "3200000") -> dict[str, str]:
    return policy(0, "800000", "3200000") | policy(2, "3200000", "3200000") | policy(3, low, high)


def test_a_fixed_clock_on_polling_cores_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine("3200000")).state is State.PASS


def test_the_lowest_frequency_is_raised_on_polling_cores_only(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, machine("800000"))
    assert finding.state is State.FAIL
    assert finding.cores == (3,)
    assert "800000-3200000 kHz on core 3" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        (change,) = remedies[0].changes
        assert change.setting.name.endswith("policy3/scaling_min_freq")
        assert change.wanted == "3200000"
        assert remedies[0].after == ("R16-now",)


def test_a_guest_does_not_see_it_and_cannot_change_it(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, GUEST).state is State.UNKNOWN

    assert judge(CHECK, tmp_path, machine("800000"), GUEST).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), GUEST)[0].id == "R17-by-hand"


def test_a_machine_whose_firmware_sets_the_clock_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    for text in ("", "<unsupported>", "\x80\x00"):
        assert judge(CHECK, tmp_path, machine("800000", text)).state is State.UNKNOWN, text


def test_a_policy_that_names_no_core_is_unknown(tmp_path: Path) -> None:
    files = machine("800000")
    owners = {path: "all\n" for path in files if path.endswith("affected_cpus")}

    assert judge(CHECK, tmp_path, files | owners).state is State.UNKNOWN


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, machine("1"), housekeeping).state is State.NOT_APPLICABLE
