from pathlib import Path

import pytest

from host_tree import judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.transparent_hugepages import CHECK

PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize("text", ["always madvise [never]", "always [madvise] never"])
def test_never_and_madvise_pass(text: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: f"{text}\n"}).state is State.PASS


def test_always_fails_and_is_remedied(tmp_path: Path) -> None:
    tree(tmp_path, {PATH: "[always] madvise never\n"})

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K23-now", "K23-boot"]
        assert str(remedies[1].boot[0]) == "transparent_hugepage=never"


def test_a_kernel_without_them_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_a_file_that_chooses_nothing_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "always madvise never\n"}).state is State.UNKNOWN
