from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.irq_affinity import CHECK

PATH = "/proc/irq/default_smp_affinity"


@pytest.mark.parametrize("mask", ["3", "00000003", "00000000,00000003"])
def test_a_mask_without_poll_cores_passes_however_wide(mask: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: f"{mask}\n"}).state is State.PASS


@pytest.mark.parametrize("mask", ["f", "ffffffff,ffffffff", "0000000b"])
def test_a_poll_core_in_it_fails_and_is_remedied(mask: str, tmp_path: Path) -> None:
    tree(tmp_path, {PATH: f"{mask}\n"})

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K12-now", "K12-boot"]
        assert str(remedies[1].boot[0]) == "irqaffinity=0-1"


def test_all_cores_are_wrong_whoever_polls(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, {PATH: "f\n"}, nobody).state is State.FAIL
    assert judge(CHECK, tmp_path, {PATH: "3\n"}, nobody).state is State.UNKNOWN
    assert not CHECK.propose(tree(tmp_path, {}), nobody)


def test_no_file_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_mask_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "0-3\n"}).state is State.UNKNOWN
