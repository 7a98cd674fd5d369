from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.host_changes import CHECK
from taut.host.situation import Situation, Watched

ONLINE = "/sys/devices/system/cpu/online"
CPUSET = "/sys/fs/cgroup/system.slice/cpuset.cpus"
MODULES = "/proc/modules"
FILES = {
    ONLINE: "0-3",
    MODULES: "veth 40960 0 - Live 0x0\nnf 1 2 veth, Live 0x0",
    CPUSET: "0-1",
    "/proc/interrupts": "1",
}


def watched(after: dict[str, str]) -> Situation:
    return replace(POLL, watched=Watched(5.0, FILES, after))


def test_nothing_changed(tmp_path: Path) -> None:
    used = "veth 40960 7 - Live 0x0\nnf 1 2 veth, Live 0x0"
    same = watched(FILES | {MODULES: used, "/proc/interrupts": "2"})

    finding = judge(CHECK, tmp_path, {}, same)

    assert finding.state is State.PASS
    assert "5 s" in finding.observed


def test_modules_cores_and_cpusets_that_change_are_named(tmp_path: Path) -> None:
    after = watched({ONLINE: "0-2", MODULES: "veth 1 0\nmsr 1 0", "/proc/interrupts": "1"})

    finding = judge(CHECK, tmp_path, {}, after)

    assert finding.state is State.FAIL
    for words in ("msr loaded", "nf unloaded", "from 0-3 to 0-2", "from 0-1 to nothing"):
        assert words in finding.observed


def test_a_patch_that_appears_is_a_change(tmp_path: Path) -> None:
    after = watched(FILES | {"/sys/kernel/livepatch/fix/enabled": "1"})

    assert "livepatch/fix" in judge(CHECK, tmp_path, {}, after).observed


def test_unwatched_it_is_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {})

    assert finding.state is State.UNKNOWN
    assert "--watch" in finding.needs


def test_content_that_makes_no_sense_is_compared_as_it_is(tmp_path: Path) -> None:
    odd = {ONLINE: "\0", MODULES: "\n\n \n"}

    same = replace(POLL, watched=Watched(1.0, odd, odd))

    assert judge(CHECK, tmp_path, {}, same).state is State.PASS
