from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.exclusive_cores import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CONTAINER = replace(POLL, role=Role.CONTAINER)
CPU = "/sys/devices/system/cpu"
CPUSET = "/sys/fs/cgroup/cpuset.cpus.effective"
MACHINE = {f"{CPU}/online": "0-3\n"} | {
    f"{CPU}/cpu{core}/topology/thread_siblings_list": f"{core // 2 * 2}-{core // 2 * 2 + 1}\n"
    for core in range(4)
}


def test_cores_that_the_machine_isolates_pass(tmp_path: Path) -> None:
    files = MACHINE | {CPUSET: "2-3\n", f"{CPU}/isolated": "2-3\n"}

    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.PASS


def test_all_cores_of_the_machine_fail(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, MACHINE | {CPUSET: "0-3\n"}, CONTAINER)

    assert finding.state is State.FAIL
    assert "every core of the machine" in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
    assert "full-pcpus-only" in remedy.by_hand and not remedy.changes


def test_half_a_core_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, MACHINE | {CPUSET: "1-3\n"}, CONTAINER)

    assert finding.state is State.FAIL
    assert finding.cores == (1,)


def test_who_else_has_the_cores_is_not_seen_from_inside(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, MACHINE | {CPUSET: "2-3\n"}, CONTAINER)

    assert finding.state is State.UNKNOWN
    assert "on the host" in finding.needs


def test_the_cgroup_may_show_as_a_path_or_not_at_all(tmp_path: Path) -> None:
    named = {"/proc/self/cgroup": "0::/pod1\n", "/sys/fs/cgroup/pod1/cpuset.cpus.effective": "0-3"}
    old = {"/proc/self/status": "Cpus_allowed_list:\t0-3\n"}

    for number, files in enumerate((named, old)):
        root = tmp_path / str(number)
        assert judge(CHECK, root, MACHINE | files, CONTAINER).state is State.FAIL


@pytest.mark.parametrize("text", ["", "many\n", "0-99999999999\n"])
def test_malformed_or_absent_is_unknown(tmp_path: Path, text: str) -> None:
    assert judge(CHECK, tmp_path, MACHINE | {CPUSET: text}, CONTAINER).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "bare", {}, CONTAINER).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, MACHINE, POLL).state is State.NOT_APPLICABLE
