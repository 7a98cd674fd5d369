from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.timer_migration import CHECK
from taut.host.situation import Role

PATH = "/proc/sys/kernel/timer_migration"
NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"


def test_no_migration_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0\n"}).state is State.PASS


def test_migration_fails_and_its_remedy_says_who_disagrees(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "1\n", NOHZ_FULL: "(null)\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R11-now", "R11-boot"]
        assert all("node tuning operator" in remedy.measure for remedy in remedies)
        assert remedies[0].after == ("K04-now",)


def test_migration_away_from_nohz_full_cores_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "1\n", NOHZ_FULL: "1-3\n"}).state is State.PASS


def test_one_core_that_is_not_nohz_full_fails(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "1\n", NOHZ_FULL: "3\n"}).state is State.FAIL


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_neither_0_nor_1_is_unknown(tmp_path: Path) -> None:
    for text in ("", "yes\n", "\x00\x80\n"):
        assert judge(CHECK, tmp_path, {PATH: text}).state is State.UNKNOWN, text


def test_a_nohz_full_list_that_is_none_is_no_core(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "1\n", NOHZ_FULL: "0-\x80\n"}).state is State.FAIL


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, {PATH: "1\n"}, housekeeping).state is State.NOT_APPLICABLE
