from pathlib import Path

import pytest

from host_tree import judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.rcu_expedited import CHECK

NORMAL = "/sys/kernel/rcu_normal"
EXPEDITED = "/sys/kernel/rcu_expedited"


def test_normal_grace_periods_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {NORMAL: "1\n", EXPEDITED: "0\n"}).state is State.PASS


@pytest.mark.parametrize(("normal", "expedited"), [("0", "0"), ("1", "1"), ("0", "1")])
def test_hurry_fails_and_is_remedied(normal: str, expedited: str, tmp_path: Path) -> None:
    tree(tmp_path, {NORMAL: f"{normal}\n", EXPEDITED: f"{expedited}\n"})

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K11-now", "K11-boot"]
        assert all("Red Hat" in remedy.measure for remedy in remedies)


def test_a_kernel_without_the_files_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {NORMAL: "maybe\n", EXPEDITED: "0\n"}).state is State.UNKNOWN
