from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.hardware.smt_siblings import CHECK
from taut.host.situation import Role, Watched

CPU = "/sys/devices/system/cpu"
SMT = {
    f"{CPU}/smt/active": "1\n",
    **{f"{CPU}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}\n" for n in range(4)},
    **{f"{CPU}/cpu{n}/online": "1\n" for n in range(1, 4)},
}
"""Cores 0 and 2 are siblings, and 1 and 3."""
ONE = replace(POLL, cores=(3,))


def stat(busy: int, idle: int) -> str:
    return f"cpu  0 0 0 0 0 0 0 0\ncpu1 {busy} 0 0 {idle} 0 0 0 0 0 0\nintr 5\n"


def watched(busy: int, idle: int) -> Watched:
    return Watched(5.0, {"/proc/stat": stat(10, 10)}, {"/proc/stat": stat(10 + busy, 10 + idle)})


def test_smt_off_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {f"{CPU}/smt/active": "0\n"}).state is State.PASS


def test_a_busy_sibling_fails_and_goes_offline(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, SMT, ONE)

    assert finding.state is State.FAIL
    assert finding.observed == "1, sibling of 3, is not isolated"
    assert finding.cores == (3,)
    with remedied(CHECK, tmp_path, ONE) as remedies:
        assert [change.setting.name for change in remedies[0].changes] == [f"{CPU}/cpu1/online"]


def test_an_isolated_sibling_passes_once_it_was_seen_idle(tmp_path: Path) -> None:
    files = {**SMT, f"{CPU}/isolated": "1,3\n"}

    assert judge(CHECK, tmp_path, files, ONE).needs == "watch a while: --watch 5s"
    idle = judge(CHECK, tmp_path, files, replace(ONE, watched=watched(0, 500)))
    assert idle.state is State.PASS
    busy = judge(CHECK, tmp_path, files, replace(ONE, watched=watched(250, 250)))
    assert busy.state is State.FAIL
    assert "busy 50 %" in busy.observed


def test_only_cores_that_suffer_are_named(tmp_path: Path) -> None:
    files = {**SMT, f"{CPU}/isolated": "1\n"}

    finding = judge(CHECK, tmp_path, files, replace(POLL, cores=(2, 3)))

    assert finding.observed == "0, sibling of 2, is not isolated"
    assert finding.cores == (2,)


def test_siblings_that_both_poll_are_for_the_user_to_part(tmp_path: Path) -> None:
    both = replace(POLL, cores=(1, 3))

    finding = judge(CHECK, tmp_path, SMT, both)

    assert finding.state is State.FAIL
    assert "both poll" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), both)
    assert remedy.by_hand and not remedy.changes


def test_the_last_housekeeping_core_never_goes_offline(tmp_path: Path) -> None:
    two = replace(POLL, online=(1, 3), cores=(3,))

    assert judge(CHECK, tmp_path, SMT, two).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), two)
    assert not remedy.changes


def test_without_named_cores_smt_is_not_judged(tmp_path: Path) -> None:
    assert "--cores" in judge(CHECK, tmp_path, SMT, replace(POLL, cores=())).needs


def test_a_guest_cannot_know_and_a_container_cannot_change(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)
    below = replace(POLL, machine=replace(BARE_METAL, hypervisor="KVM"))
    container = replace(ONE, role=Role.CONTAINER)

    for situation in (guest, below):
        finding = judge(CHECK, tmp_path, {f"{CPU}/smt/active": "0\n"}, situation)
        assert finding.state is State.UNKNOWN
        assert "on the host" in finding.needs
    assert judge(CHECK, tmp_path, SMT, container).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), container)
    assert remedy.by_hand


def test_housekeeping_may_share(tmp_path: Path) -> None:
    situation = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, SMT, situation).state is State.NOT_APPLICABLE


def test_absent_or_odd_is_not_judged(tmp_path: Path) -> None:
    odd = {f"{CPU}/smt/active": "1\n", f"{CPU}/cpu2/topology/thread_siblings_list": "2-x\n"}

    assert judge(CHECK, tmp_path / "none", {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path / "odd", odd).state is State.UNKNOWN
