from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kvm_guest.steal_time import CHECK
from taut.host.situation import Role, Watched

STAT = "/proc/stat"
GUEST = replace(POLL, role=Role.KVM_GUEST)


def stat(*steal: int) -> str:
    lines = [f"cpu{core} 1 2 3 4 5 6 7 {ticks} 0 0" for core, ticks in enumerate(steal)]
    return "\n".join([f"cpu  1 2 3 4 5 6 7 {sum(steal)} 0 0", *lines, "intr 5 0", ""])


def watched(before: str, after: str) -> Watched:
    return Watched(5.0, {STAT: before}, {STAT: after})


def test_nothing_stolen_while_watched_passes_and_says_how_little_that_is(tmp_path: Path) -> None:
    quiet = replace(GUEST, watched=watched(stat(9, 9, 9, 9), stat(50, 9, 9, 9)))

    finding = judge(CHECK, tmp_path, {STAT: stat(50, 9, 9, 9)}, quiet)

    assert finding.state is State.PASS
    assert "shorter gaps: G02" in finding.observed


def test_time_stolen_from_a_poll_core_fails(tmp_path: Path) -> None:
    busy = replace(GUEST, watched=watched(stat(9, 9, 9, 9), stat(9, 9, 9, 12)))

    finding = judge(CHECK, tmp_path, {STAT: stat(9, 9, 9, 12)}, busy)

    assert finding.state is State.FAIL
    assert finding.observed == "stolen in 5 s: core 3 30 ms"
    assert finding.cores == (3,)
    assert "vcpupin" in CHECK.propose(tree(tmp_path, {}), busy)[0].by_hand


def test_a_total_since_boot_is_no_verdict(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {STAT: stat(9, 9, 9, 9)}, GUEST)

    assert finding.state is State.UNKNOWN
    assert "--watch" in finding.needs


def test_a_host_that_never_told_of_steal_is_not_believed(tmp_path: Path) -> None:
    silent = replace(GUEST, watched=watched(stat(0, 0, 0, 0), stat(0, 0, 0, 0)))

    assert judge(CHECK, tmp_path, {STAT: stat(0, 0, 0, 0)}, silent).state is State.UNKNOWN


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, GUEST).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {STAT: "cpu2 1 2 x\n"}, GUEST).state is State.UNKNOWN


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {STAT: stat(9)}).state is State.NOT_APPLICABLE
