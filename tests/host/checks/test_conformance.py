"""What every check must do, whatever the machine shows."""

from collections import Counter
from pathlib import Path

import pytest

from check_rows import all_rows
from taut.host.check import State
from taut.host.checks import CHECKS
from taut.host.situation import Role
from taut.host.table import GROUPS, Check
from taut.testing import checks

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
# They report, or ask for what would tell.
NEVER_FAILS = {"HW14", "HW15", "K03", "G02", "G08"}
# They see what is wrong; that nothing is, they cannot see.
NEVER_PASSES = {"HW06", "G02", "G07", "G08"}


def test_checks_are_numbered_without_a_hole_group_by_group() -> None:
    sizes = Counter(check.id.rstrip("0123456789") for check in CHECKS)

    numbered = [f"{group}{n:02}" for group in GROUPS for n in range(1, sizes[group] + 1)]
    assert [check.id for check in CHECKS] == numbered


@each_check
def test_it_says_what_and_why_and_who_says_so(check: Check) -> None:
    checks.says_what_and_why(check)


@each_check
def test_it_says_in_a_short_sentence_what_is_so_where_it_fails(check: Check) -> None:
    checks.says_the_fault(check, never_fails=check.id in NEVER_FAILS)


def test_every_check_is_shown_a_good_and_a_bad_host() -> None:
    shown = {(row.check, row.state) for row in all_rows()}

    ids = [check.id for check in CHECKS]
    wanted = {(name, State.PASS) for name in ids if name not in NEVER_PASSES}
    wanted |= {(name, State.FAIL) for name in ids if name not in NEVER_FAILS}
    assert wanted <= shown
    assert not {check for check, state in shown if state is State.FAIL} & NEVER_FAILS


@each_check
@pytest.mark.parametrize("role", Role)
def test_only_roles_of_the_row_are_asked(check: Check, role: Role, tmp_path: Path) -> None:
    checks.is_asked_in_its_roles_alone(check, role, tmp_path)


@each_check
@pytest.mark.parametrize("role", Role)
def test_a_machine_that_shows_nothing_is_judged(check: Check, role: Role, tmp_path: Path) -> None:
    checks.judges_a_machine_that_shows_nothing(check, role, tmp_path)


@each_check
@pytest.mark.parametrize("odd", checks.ODD)
def test_odd_contents_are_judged_and_never_pass_for_numbers(
    check: Check, odd: str, tmp_path: Path
) -> None:
    checks.judges_odd_contents(check, odd, tmp_path)


@each_check
def test_remedies_bear_its_id_and_known_settings(check: Check, tmp_path: Path) -> None:
    checks.remedies_are_its_own(check, tmp_path)
