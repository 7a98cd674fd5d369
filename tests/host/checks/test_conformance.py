"""What every check must do, whatever the machine shows."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import all_rows
from host_tree import POLL, put, tree
from taut.host.check import Severity, State
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.settings import KINDS
from taut.host.situation import Role
from taut.host.table import Check

GROUPS = ("HW", "K", "R", "A", "V", "G", "C")

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
# They report, or ask for what would tell.
NEVER_FAILS = {"HW14", "HW15", "K03", "G02", "G08"}
# They see what is wrong; that nothing is, they cannot see.
NEVER_PASSES = {"HW06", "G02", "G07", "G08"}
# What a file may hold that no check expects.
ODD = ("", "\n", "-1\n", "N/A\n", "(null)\n", "\x00\xff\n", "99999999999999999999\n", "a b c\n")


def test_checks_are_numbered_without_a_hole_group_by_group() -> None:
    sizes = Counter(check.id.rstrip("0123456789") for check in CHECKS)

    numbered = [f"{group}{n:02}" for group in GROUPS for n in range(1, sizes[group] + 1)]
    assert [check.id for check in CHECKS] == numbered


@each_check
def test_it_says_what_and_why_and_who_says_so(check: Check) -> None:
    assert check.title and check.why and check.source
    assert check.severity in Severity


@each_check
def test_it_says_in_a_short_sentence_what_is_so_where_it_fails(check: Check) -> None:
    assert bool(check.fault) == (check.id not in NEVER_FAILS)
    assert len(check.fault) <= 60
    assert not check.fault.endswith(".")


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
    finding = check.inspect(tree(tmp_path, {}), replace(POLL, role=role))

    assert finding.observed.startswith(f"not asked of a {role}") or role in check.roles


@each_check
@pytest.mark.parametrize("role", Role)
def test_a_machine_that_shows_nothing_is_judged(check: Check, role: Role, tmp_path: Path) -> None:
    host = tree(tmp_path, {})

    finding = check.inspect(host, replace(POLL, role=role))

    assert finding.observed
    assert finding.needs or finding.state is not State.UNKNOWN
    check.propose(host, replace(POLL, role=role))


@each_check
@pytest.mark.parametrize("odd", ODD)
def test_odd_contents_are_judged_and_never_pass_for_numbers(
    check: Check, odd: str, tmp_path: Path
) -> None:
    """Every file the check reads of a bare tree, found by watching it read, gets the content."""
    for _ in range(4):
        wanted = _Listening(tmp_path)
        check.inspect(wanted, POLL)
        for path in wanted.asked:
            if not (tmp_path / path.lstrip("/")).exists():
                put(tmp_path, path, odd)

    finding = check.inspect(Host(tmp_path), POLL)

    assert finding.observed
    for remedy in check.propose(Host(tmp_path), POLL):
        for change in remedy.changes:
            change.setting.read(Host(tmp_path))


@each_check
def test_remedies_bear_its_id_and_known_settings(check: Check, tmp_path: Path) -> None:
    for remedy in check.propose(tree(tmp_path, {}), POLL):
        assert remedy.id.startswith(f"{check.id}-")
        assert remedy.summary
        assert remedy.changes or remedy.boot or remedy.by_hand
        assert all(change.setting.kind in KINDS for change in remedy.changes)


class _Listening(Host):
    """Remembers which files were asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        object.__setattr__(self, "asked", [])

    asked: list[str]

    def read_bytes(self, path: str) -> bytes | None:
        self.asked.append(path)
        return super().read_bytes(path)
