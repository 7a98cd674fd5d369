from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import Profile, State
from taut.host.checks.hardware.turbo import CHECK
from taut.host.situation import Role

CPU = "/sys/devices/system/cpu"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
BOOST = f"{CPU}/cpufreq/boost"
ONE_FREQUENCY = {
    f"{CPU}/cpu{core}/cpufreq/scaling_{which}_freq": "3000000\n"
    for core in range(4)
    for which in ("min", "max")
}
AWAKE = {
    **{f"{CPU}/cpu{core}/cpuidle/state0/name": "POLL\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state0/disable": "0\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state1/name": "C1\n" for core in range(4)},
    **{f"{CPU}/cpu{core}/cpuidle/state1/disable": "1\n" for core in range(4)},
}


def test_off_passes_with_either_switch(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path / "intel", {NO_TURBO: "1\n"}).state is State.PASS
    assert judge(CHECK, tmp_path / "other", {BOOST: "0\n"}).state is State.PASS


def test_on_fails_and_is_switched_off_only_by_the_extreme(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {NO_TURBO: "0\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        assert {remedy.profile for remedy in remedies} == {Profile.EXTREME}
        assert remedies[0].measure


def test_boost_fails_and_is_switched_off(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {BOOST: "1\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path):
        pass


def test_on_passes_where_nothing_can_step(tmp_path: Path) -> None:
    files = {NO_TURBO: "0\n", **ONE_FREQUENCY, **AWAKE}

    assert judge(CHECK, tmp_path, files).state is State.PASS

    sleeps = {f"{CPU}/cpu0/cpuidle/state1/disable": "0\n"}
    assert judge(CHECK, tmp_path, sleeps).state is State.FAIL
    held = {"/dev/cpu_dma_latency": "\0\0\0\0"}
    assert judge(CHECK, tmp_path, held).state is State.PASS


def test_a_guest_cannot_know_and_a_container_cannot_change(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)
    container = replace(POLL, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, {NO_TURBO: "1\n"}, guest).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {NO_TURBO: "0\n"}, container).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), container)
    assert remedy.by_hand


def test_without_a_switch_the_processors_flags_decide(tmp_path: Path) -> None:
    able = replace(POLL, machine=replace(BARE_METAL, flags=frozenset({"ida"})))

    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {}, able).state is State.UNKNOWN


def test_what_is_no_switch_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {NO_TURBO: "2\n"}).state is State.UNKNOWN
