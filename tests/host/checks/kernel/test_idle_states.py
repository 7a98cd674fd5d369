from dataclasses import replace
from pathlib import Path

import pytest

from host_idle import held, idle_files
from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.idle_states import CHECK
from taut.host.situation import Role

DRIVER = {"/sys/devices/system/cpu/cpuidle/current_driver": "intel_idle\n"}
SHALLOW = (("POLL", 0), ("C1", 2))


def test_c1_at_most_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, DRIVER | idle_files(states=SHALLOW)).state is State.PASS


def test_deep_states_of_poll_cores_fail_and_are_disabled_there_only(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, DRIVER | idle_files())

    assert finding.state is State.FAIL
    assert "C6(133µs)" in finding.observed
    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        assert all("/cpu2/" in c.setting.name or "/cpu3/" in c.setting.name for c in now.changes)
        assert [str(item) for item in boot.boot] == [
            "intel_idle.max_cstate=1",
            "processor.max_cstate=1",
        ]


def test_a_latency_that_is_held_puts_deep_states_out_of_reach(tmp_path: Path) -> None:
    files = DRIVER | idle_files() | {"/dev/cpu_dma_latency": held(2)}

    assert judge(CHECK, tmp_path, files).state is State.PASS


@pytest.mark.parametrize(("limit", "state"), [("n/a", State.PASS), ("500", State.FAIL)])
def test_a_limit_per_core_counts_as_well(limit: str, state: State, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, DRIVER | idle_files(limit=limit)).state is state


def test_no_driver_means_halt(tmp_path: Path) -> None:
    none = {"/sys/devices/system/cpu/cpuidle/current_driver": "none\n"}

    assert judge(CHECK, tmp_path, none).state is State.PASS


@pytest.mark.parametrize(("driver", "state"), [("haltpoll", State.PASS), ("none", State.FAIL)])
def test_a_guest_polls_before_it_halts(driver: str, state: State, tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)
    files = {"/sys/devices/system/cpu/cpuidle/current_driver": f"{driver}\n"}

    assert judge(CHECK, tmp_path, files, guest).state is state
    (remedy,) = CHECK.propose(tree(tmp_path, {}), guest)
    assert str(remedy.boot[0]) == "cpuidle_haltpoll.force=1"


@pytest.mark.parametrize(
    ("vendor", "first"), [("amd", "processor.max_cstate=1"), ("arm", "cpuidle.off=1")]
)
def test_the_parameter_is_the_vendors(vendor: str, first: str, tmp_path: Path) -> None:
    machine = replace(BARE_METAL, vendor=vendor)

    (remedy,) = CHECK.propose(tree(tmp_path, {}), replace(POLL, machine=machine))

    assert str(remedy.boot[0]) == first


def test_a_kernel_without_cpuidle_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_a_driver_without_readable_states_is_unknown(tmp_path: Path) -> None:
    odd = {"/sys/devices/system/cpu/cpu2/cpuidle/state1/name": "\n"}

    assert judge(CHECK, tmp_path, DRIVER | odd).state is State.UNKNOWN
