from dataclasses import replace
from pathlib import Path

from host_tree import POLL, SLEEP, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.nohz_full import CHECK
from taut.host.situation import Role, Waiting, Watched

PATH = "/sys/devices/system/cpu/nohz_full"
ONLINE = {"/sys/devices/system/cpu/online": "0-3\n"}


def interrupts(counts: str) -> dict[str, str]:
    """What /proc/interrupts says of the local timers."""
    return {"/proc/interrupts": f"     CPU0 CPU1 CPU2 CPU3\nLOC: {counts} Local timer\nERR: 0\n"}


def watched(before: str, after: str) -> Watched:
    return Watched(5.0, interrupts(before), interrupts(after))


def test_the_poll_cores_in_the_set_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, ONLINE | {PATH: "2-3\n"}).state is State.PASS


def test_a_core_outside_fails_and_is_remedied_at_boot_only(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, ONLINE | {PATH: "3\n"})

    assert finding.state is State.FAIL
    assert finding.cores == (2,)
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "nohz_full=2-3"
    assert not remedy.changes


def test_old_kernels_write_null_for_no_core(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, ONLINE | {PATH: "(null)\n"})

    assert finding.state is State.FAIL
    assert "none" in finding.observed


def test_a_tick_that_stays_fails_and_names_the_core(tmp_path: Path) -> None:
    seen = replace(POLL, watched=watched("0 0 100 100", "900 900 102 1350"))

    finding = judge(CHECK, tmp_path, ONLINE | {PATH: "2-3\n"}, seen)

    assert finding.state is State.FAIL
    assert finding.cores == (3,)
    assert "250 ticks" in finding.observed
    assert "K06-by-hand" in [remedy.id for remedy in CHECK.propose(tree(tmp_path, {}), seen)]


def test_one_tick_a_second_passes(tmp_path: Path) -> None:
    seen = replace(POLL, watched=watched("0 0 100 100", "900 900 105 106"))

    assert judge(CHECK, tmp_path, ONLINE | {PATH: "2-3\n"}, seen).state is State.PASS


def test_malformed_counts_are_left_out(tmp_path: Path) -> None:
    seen = replace(POLL, watched=watched("x y z", "1 2 3 4"))

    assert judge(CHECK, tmp_path, ONLINE | {PATH: "2-3\n"}, seen).state is State.PASS


def test_a_kernel_without_it_fails_and_takes_another_kernel(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, ONLINE)

    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert not remedy.boot
    assert "NO_HZ_FULL" in remedy.by_hand


def test_a_machine_that_tells_nothing_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_list_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, ONLINE | {PATH: "two\n"}).state is State.UNKNOWN


def test_a_housekeeping_machine_wants_none(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, ONLINE | {PATH: "\n"}, housekeeping).state is State.PASS
    assert judge(CHECK, tmp_path, ONLINE | {PATH: "2\n"}, housekeeping).state is State.FAIL


def test_the_tick_of_a_core_that_sleeps_stops_by_itself(tmp_path: Path) -> None:
    both = replace(SLEEP, waiting=frozenset(Waiting))
    files = ONLINE | {PATH: "\n"}

    assert judge(CHECK, tmp_path, files, SLEEP).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, files, both).state is State.FAIL
