from pathlib import Path

import pytest

from taut.testbed import hugepages
from taut.testbed.owner import HugepageGrant


@pytest.fixture
def nr(tmp_path: Path) -> Path:
    path = tmp_path / "nr_hugepages"
    path.write_text("10\n")
    return path


def _count(nr: Path) -> int:
    return int(nr.read_text())


def test_pages_are_added_and_given_back(nr: Path) -> None:
    grant = hugepages.take(hugepages.intend(64, nr))

    assert (_count(nr), grant.added) == (74, 64)

    hugepages.give_back(hugepages.returning(grant))

    assert _count(nr) == 10


def test_pages_others_added_stay(nr: Path) -> None:
    ours = hugepages.take(hugepages.intend(64, nr))
    theirs = hugepages.take(hugepages.intend(32, nr))

    hugepages.give_back(hugepages.returning(ours, [theirs]))

    assert _count(nr) == 42


def test_never_below_what_others_hold(nr: Path) -> None:
    ours = hugepages.take(hugepages.intend(64, nr))
    nr.write_text("40\n")  # the administrator took some away
    theirs = HugepageGrant(str(nr), before=0, asked=32, added=32)

    hugepages.give_back(hugepages.returning(ours, [theirs]))

    assert _count(nr) == 32


def test_killed_before_the_pages_were_taken_gives_nothing_back(nr: Path) -> None:
    intended = hugepages.intend(64, nr)

    hugepages.give_back(hugepages.returning(intended))

    assert _count(nr) == 10


def test_killed_after_the_pages_were_taken_gives_them_back(nr: Path) -> None:
    intended = hugepages.intend(64, nr)
    hugepages.take(intended)

    hugepages.give_back(hugepages.returning(intended))

    assert _count(nr) == 10


@pytest.mark.parametrize("was_written", [False, True])
def test_a_return_that_was_killed_is_repeated_safely(nr: Path, was_written: bool) -> None:
    grant = hugepages.take(hugepages.intend(64, nr))
    plan = hugepages.returning(grant)
    if was_written:
        hugepages.give_back(plan)

    hugepages.give_back(hugepages.returning(plan))

    assert _count(nr) == 10
