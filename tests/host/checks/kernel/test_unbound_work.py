from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.unbound_work import CHECK

PATH = "/sys/devices/virtual/workqueue/cpumask"


def test_a_mask_without_poll_cores_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "00000003\n"}).state is State.PASS


def test_a_poll_core_in_it_fails_and_is_remedied_at_boot(tmp_path: Path) -> None:
    files = {PATH: "f\n", f"{PATH}_requested": "f\n", f"{PATH}_isolated": "0\n"}

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.FAIL
    assert "cpumask_isolated=0" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "workqueue.unbound_cpus=0-1"


def test_a_kernel_that_lacks_the_parameter_is_not_given_it(tmp_path: Path) -> None:
    old = replace(POLL, machine=replace(BARE_METAL, kernel=(6, 1)))

    (remedy,) = CHECK.propose(tree(tmp_path, {}), old)

    assert not remedy.boot
    assert "R07" in remedy.by_hand


def test_no_mask_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_mask_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "all\n"}).state is State.UNKNOWN
