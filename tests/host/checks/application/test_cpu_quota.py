from dataclasses import replace
from pathlib import Path

from host_pollers import PROGRAM, SITUATION, watched
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.application.cpu_quota import CHECK
from taut.host.host import Host
from taut.host.situation import Role

SLICE = "/sys/fs/cgroup/system.slice"
NEW = PROGRAM | {
    "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "/proc/500/cgroup": "0::/system.slice/poll.service\n",
    f"{SLICE}/poll.service/cpu.max": "max 100000\n",
    f"{SLICE}/cpu.max": "max 100000\n",
}
OLD = PROGRAM | {
    "/proc/mounts": "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
    "/proc/500/cgroup": "3:cpu,cpuacct:/poll\n0::/\n",
    "/sys/fs/cgroup/cpu,cpuacct/poll/cpu.cfs_quota_us": "-1\n",
}


def stat(throttled: int) -> dict[str, str]:
    return {f"{SLICE}/cpu.stat": f"usage_usec 1\nnr_periods 9\nnr_throttled {throttled}\n"}


def test_no_quota_is_good_in_both_versions(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path / "new", NEW, SITUATION).state is State.PASS
    assert judge(CHECK, tmp_path / "old", OLD, SITUATION).state is State.PASS


def test_a_quota_of_a_group_above_is_taken_away(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, NEW | {f"{SLICE}/cpu.max": "50000 100000\n"}, SITUATION)
    assert finding.state is State.FAIL
    assert f"{SLICE}/cpu.max = 50000 100000" in finding.observed

    with remedied(CHECK, tmp_path, SITUATION) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["max 100000"]


def test_a_quota_of_version_1_is_taken_away(tmp_path: Path) -> None:
    limited = {"/sys/fs/cgroup/cpu,cpuacct/poll/cpu.cfs_quota_us": "20000\n"}
    assert judge(CHECK, tmp_path, OLD | limited, SITUATION).state is State.FAIL

    with remedied(CHECK, tmp_path, SITUATION):
        pass


def test_throttling_counts_while_watched_only(tmp_path: Path) -> None:
    past = judge(CHECK, tmp_path, NEW | stat(7), watched(stat(7), stat(7)))
    assert past.state is State.PASS
    assert "7 times since" in past.observed

    now = judge(CHECK, tmp_path, NEW | stat(9), watched(stat(7), stat(9)))
    assert now.state is State.FAIL
    assert "2 times while watched" in now.observed


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    inside = replace(SITUATION, role=Role.CONTAINER)
    files = PROGRAM | {
        "/proc/mounts": "cgroup /sys/fs/cgroup cgroup2 ro 0 0\n",
        "/proc/500/cgroup": "0::/../../outside\n",
        "/sys/fs/cgroup/cpu.max": "100000 100000\n",
    }

    assert judge(CHECK, tmp_path, files, inside).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), inside)[0].id == "A09-by-hand"


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NEW, POLL).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path / "none", PROGRAM, SITUATION).state is State.UNKNOWN
    for text in ("plenty\n", "\n", "max\n", "-5 100000\n"):
        odd = NEW | {f"{SLICE}/cpu.max": text}
        assert judge(CHECK, tmp_path, odd, SITUATION).state is State.UNKNOWN
    odd = OLD | {"/sys/fs/cgroup/cpu,cpuacct/poll/cpu.cfs_quota_us": "some\n"}
    assert judge(CHECK, tmp_path / "old", odd, SITUATION).state is State.UNKNOWN
