from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.governor import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CPU = "/sys/devices/system/cpu"
GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="kvm"))


def policy(
    core: int, governor: str = "performance", preference: str = "", bias: str = "", cores: str = ""
) -> dict[str, str]:
    folder = f"{CPU}/cpufreq/policy{core}"
    files = {f"{folder}/affected_cpus": cores or f"{core}\n"}
    files[f"{folder}/scaling_governor"] = f"{governor}\n"
    if preference:
        files[f"{folder}/energy_performance_preference"] = f"{preference}\n"
    if bias:
        files[f"{CPU}/cpu{core}/power/energy_perf_bias"] = f"{bias}\n"
    return files


def machine(**wrong: str) -> dict[str, str]:
    files = policy(0, "powersave") | policy(1, "powersave") | policy(2)
    return files | policy(3, **wrong)


def test_polling_cores_at_performance_pass_whatever_the_others_do(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine()).state is State.PASS


def test_the_governor_alone_is_not_enough(tmp_path: Path) -> None:
    for wrong in ({"preference": "balance_performance"}, {"bias": "6"}, {"preference": "128"}):
        finding = judge(CHECK, tmp_path, machine(**wrong))
        assert finding.state is State.FAIL, wrong
        assert finding.cores == (3,)


def test_hints_are_written_before_the_governor_so_that_undo_writes_them_after(
    tmp_path: Path,
) -> None:
    wrong = {"governor": "powersave", "preference": "balance_power", "bias": "6"}
    finding = judge(CHECK, tmp_path, machine(**wrong))
    assert "energy_perf_bias 6" in finding.observed
    assert "scaling_governor powersave" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        names = [change.setting.name.rpartition("/")[2] for change in now.changes]
        assert names == ["energy_perf_bias", "energy_performance_preference", "scaling_governor"]
        assert [change.wanted for change in now.changes] == ["0", "performance", "performance"]
        assert len(boot.boot) == 3
        assert now.cost == "power"


def test_cores_of_one_policy_change_together(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, policy(0, "schedutil", cores="0 1 2 3\n"))

    assert finding.state is State.FAIL
    assert finding.cores == (2, 3)


def test_a_guest_does_not_see_it_and_cannot_change_it(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, GUEST)
    assert finding.state is State.UNKNOWN
    assert "on the host" in finding.needs

    assert judge(CHECK, tmp_path, machine(governor="ondemand"), GUEST).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), GUEST)[0].id == "R16-by-hand"


def test_a_machine_whose_firmware_sets_the_clock_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_governor_is_unknown(tmp_path: Path) -> None:
    for text in ("", "\x80\x00", "two words"):
        assert judge(CHECK, tmp_path, machine(governor=text)).state is State.UNKNOWN, text


def test_a_policy_that_vanishes_is_none(tmp_path: Path) -> None:
    files = {f"{CPU}/cpufreq/policy2/affected_cpus": "2\n"}

    assert judge(CHECK, tmp_path, files).state is State.UNKNOWN


def test_with_no_polling_core_named_a_mixture_is_unknown(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, machine(), nobody).state is State.UNKNOWN
    slow = policy(0, "schedutil", cores="0 1 2 3\n")
    assert judge(CHECK, tmp_path / "slow", slow, nobody).state is State.FAIL


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, machine(), housekeeping).state is State.NOT_APPLICABLE
