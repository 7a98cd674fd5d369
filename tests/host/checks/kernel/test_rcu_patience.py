from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.rcu_patience import CHECK

PATH = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
TICKLESS = {"/sys/devices/system/cpu/nohz_full": "2-3\n"}


def test_a_second_is_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, TICKLESS | {PATH: "1000\n"}).state is State.PASS


def test_no_patience_fails_and_is_remedied_at_boot(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, TICKLESS | {PATH: "0\n"}).state is State.FAIL
    (remedy,) = CHECK.remedies(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "rcutree.nohz_full_patience_delay=1000"


def test_a_kernel_with_ticks_does_not_look_at_it(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0\n"}).state is State.NOT_APPLICABLE


def test_kernels_before_6_11_have_none(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, TICKLESS).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, TICKLESS | {PATH: "long\n"}).state is State.UNKNOWN
