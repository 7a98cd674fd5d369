from pathlib import Path

from host_tree import judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.vm_stat_interval import CHECK

PATH = "/proc/sys/vm/stat_interval"


def test_ten_seconds_are_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "10\n"}).state is State.PASS


def test_one_second_fails_and_is_remedied(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "1\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R06-now", "R06-boot"]


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "often\n"}).state is State.UNKNOWN
