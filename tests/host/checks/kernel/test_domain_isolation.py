from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.domain_isolation import CHECK
from taut.host.situation import Role

BOOT = "/sys/devices/system/cpu/isolated"
CGROUP = "/sys/fs/cgroup"
UNIFIED = {
    BOOT: "\n",
    f"{CGROUP}/cgroup.controllers": "cpuset cpu io\n",
    f"{CGROUP}/cgroup.subtree_control": "cpu\n",
    f"{CGROUP}/cpuset.cpus.isolated": "\n",
}
VERSION_1 = {
    BOOT: "\n",
    f"{CGROUP}/cpuset/cpuset.cpus": "0-3\n",
    f"{CGROUP}/cpuset/cpuset.mems": "0\n",
    f"{CGROUP}/cpuset/cpuset.sched_load_balance": "1\n",
}


def test_isolcpus_over_the_poll_cores_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {BOOT: "1-3\n"}).state is State.PASS


def test_one_poll_core_outside_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {BOOT: "3\n"})

    assert finding.state is State.FAIL
    assert finding.cores == (2,)


def test_a_partition_passes_as_well(tmp_path: Path) -> None:
    files = {BOOT: "\n", f"{CGROUP}/cpuset.cpus.isolated": "2-3\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_a_partition_of_a_kernel_without_the_sum_is_found(tmp_path: Path) -> None:
    files = {
        BOOT: "\n",
        f"{CGROUP}/poll/cpuset.cpus.partition": "isolated\n",
        f"{CGROUP}/poll/cpuset.cpus.effective": "2-3\n",
    }

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_an_invalid_partition_isolates_nothing_and_is_named(tmp_path: Path) -> None:
    files = {
        BOOT: "\n",
        f"{CGROUP}/poll/cpuset.cpus.partition": "isolated invalid (Cpu list is not exclusive)\n",
        f"{CGROUP}/poll/cpuset.cpus.effective": "2-3\n",
    }

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "not exclusive" in finding.observed


def test_cores_without_a_scheduling_domain_are_isolated(tmp_path: Path) -> None:
    lines = "version 17\ncpu0 0\ndomain0 MC 3 0\ncpu1 0\ndomain0 MC 3 0\ncpu2 0\ncpu3 0\n"

    assert judge(CHECK, tmp_path, {BOOT: "\n", "/proc/schedstat": lines}).state is State.PASS


def test_a_kernel_that_shows_no_domain_at_all_proves_nothing(tmp_path: Path) -> None:
    lines = "version 17\ncpu0 0\ncpu1 0\ncpu2 0\ncpu3 0\n"

    assert judge(CHECK, tmp_path, {BOOT: "\n", "/proc/schedstat": lines}).state is State.FAIL


@pytest.mark.parametrize("files", [UNIFIED, VERSION_1], ids=["version 2", "version 1"])
def test_cpusets_set_the_cores_apart_now(files: dict[str, str], tmp_path: Path) -> None:
    tree(tmp_path, files)

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K04-now", "K04-boot"]
        assert str(remedies[1].boot[0]) == "isolcpus=domain,2-3"


def test_where_nobody_named_cores_none_isolated_is_wrong_and_some_are_unknown(
    tmp_path: Path,
) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, {BOOT: "\n"}, nobody).state is State.FAIL
    assert not CHECK.propose(tree(tmp_path, {}), nobody)
    assert judge(CHECK, tmp_path, {BOOT: "3\n"}, nobody).state is State.UNKNOWN


def test_a_housekeeping_machine_isolates_nothing(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, {BOOT: "\n"}, housekeeping).state is State.PASS
    assert judge(CHECK, tmp_path, {BOOT: "3\n"}, housekeeping).state is State.FAIL


def test_a_container_sees_isolcpus_but_no_partition(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, {BOOT: "2-3\n"}, container).state is State.PASS
    assert judge(CHECK, tmp_path, {BOOT: "\n"}, container).state is State.UNKNOWN


def test_neither_file_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("text", ["2-x\n", "3-2\n", "0-4000000000\n"])
def test_what_is_no_list_is_unknown(text: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {BOOT: text}).state is State.UNKNOWN
