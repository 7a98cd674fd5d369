import errno
from pathlib import Path

import pytest

from host_tree import TreeWriter, put, snapshot, tree
from taut.host.apply import Outcome, Wish, apply_changes
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings import CpusetController, CpusetPartition
from taut.host.settings.cpuset_partition import isolation_here

UNIFIED = {
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n",
    "/sys/fs/cgroup/cgroup.subtree_control": "cpuset cpu\n",
}
VERSION_1 = {
    "/sys/fs/cgroup/cpuset/cpuset.cpus": "0-3\n",
    "/sys/fs/cgroup/cpuset/cpuset.mems": "0-1\n",
    "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance": "1\n",
}
SETTING = CpusetPartition("taut")


@pytest.mark.parametrize("files", [UNIFIED, VERSION_1])
def test_a_partition_is_made_read_and_removed(tmp_path: Path, files: dict[str, str]) -> None:
    host = tree(tmp_path, files)
    before = snapshot(tmp_path)

    assert SETTING.read(host) == ""
    SETTING.write(TreeWriter(host), "2-3")
    assert SETTING.read(host) == "2-3"
    SETTING.write(TreeWriter(host), "3")
    assert SETTING.read(host) == "3"
    SETTING.write(TreeWriter(host), "")

    assert snapshot(tmp_path) == before


def test_version_1_leaves_the_other_cores_balanced(tmp_path: Path) -> None:
    host = tree(tmp_path, VERSION_1)

    SETTING.write(TreeWriter(host), "2-3")

    folder = "/sys/fs/cgroup/cpuset"
    assert host.read(f"{folder}/taut-others/cpuset.cpus") == "0-1"
    assert host.read(f"{folder}/taut-others/cpuset.sched_load_balance") == "1"
    assert host.read(f"{folder}/taut/cpuset.mems") == "0-1"
    assert host.read(f"{folder}/cpuset.sched_load_balance") == "0"


def test_an_invalid_partition_is_refused_with_the_kernels_reason(tmp_path: Path) -> None:
    class Kernel(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            if path.endswith(".partition") and "isolated" in text:
                text = "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n"
            super().write_file(path, text)

    host = tree(tmp_path, UNIFIED)
    before = snapshot(tmp_path)

    with pytest.raises(OSError, match="not exclusive"):
        SETTING.write(Kernel(host), "2-3")
    assert snapshot(tmp_path) == before


class OldKernel(TreeWriter):
    """Linux before 6.1 does not know the word; `refused` ends the path of what it refuses."""

    refused = ".partition"

    def write_file(self, path: str, text: str) -> None:
        if path.endswith(self.refused) and text != "member\n":
            raise OSError(errno.EINVAL, "Invalid argument")
        super().write_file(path, text)


def test_a_kernel_without_isolated_partitions_leaves_it_to_affinities(tmp_path: Path) -> None:
    host = tree(tmp_path, UNIFIED)

    report = apply_changes(host, OldKernel(host), [Wish("K04-now", Change(SETTING, "2-3"))])

    assert report.is_good
    assert [result.outcome for result in report.results] == [Outcome.UNMOVABLE]
    assert "no isolated partitions on this kernel" in report.results[0].note
    assert not host.is_there("/sys/fs/cgroup/taut")


def test_cores_the_kernel_does_not_take_are_a_failure(tmp_path: Path) -> None:
    class Kernel(OldKernel):
        refused = "/cpuset.cpus"

    host = tree(tmp_path, UNIFIED)

    report = apply_changes(host, Kernel(host), [Wish("K04-now", Change(SETTING, "2-9"))])

    assert [result.outcome for result in report.results] == [Outcome.FAILED]


def test_a_partition_that_became_invalid_is_not_in_force(tmp_path: Path) -> None:
    host = tree(tmp_path, UNIFIED)
    SETTING.write(TreeWriter(host), "2-3")
    put(tmp_path, "/sys/fs/cgroup/taut/cpuset.cpus.partition", "isolated invalid (hotplug)\n")

    assert not SETTING.agrees(SETTING.read(host), "2-3")


def test_a_partition_somebody_runs_in_is_not_removed(tmp_path: Path) -> None:
    host = tree(tmp_path, UNIFIED)
    SETTING.write(TreeWriter(host), "2-3")
    put(tmp_path, "/sys/fs/cgroup/taut/cgroup.procs", "77\n78\n")

    with pytest.raises(OSError, match="processes 77 78 run in it"):
        SETTING.write(TreeWriter(host), "")
    assert SETTING.read(host) == "2-3"


def test_without_cpusets_it_is_unmovable(tmp_path: Path) -> None:
    host = tree(tmp_path, {})

    assert SETTING.read(host) is None
    with pytest.raises(OSError, match="no cpuset control group") as refusal:
        SETTING.write(TreeWriter(host), "2-3")
    assert SETTING.unmovable(refusal.value)
    SETTING.write(TreeWriter(host), None)


def test_the_controller_is_switched_on_and_off(tmp_path: Path) -> None:
    host = tree(tmp_path, UNIFIED | {"/sys/fs/cgroup/cgroup.subtree_control": "cpu\n"})

    SETTING.write(TreeWriter(host), "2-3")
    assert CpusetController().read(host) == "on"
    CpusetController().write(TreeWriter(host), "off")

    assert host.read("/sys/fs/cgroup/cgroup.subtree_control") == "cpu"


@pytest.mark.parametrize(
    ("files", "word"), [(UNIFIED, "v2"), (VERSION_1, "v1"), ({}, "no cpusets")]
)
def test_a_plan_can_say_what_isolation_is_here(
    tmp_path: Path, files: dict[str, str], word: str
) -> None:
    assert word in isolation_here(tree(tmp_path, files))


def test_hybrid_systems_have_version_2_beside(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/fs/cgroup/unified/cgroup.controllers": "cpuset\n"})

    assert SETTING.read(host) == ""
    assert isinstance(host, Host)
