"""What every host check must do, whatever the machine shows."""

from dataclasses import replace
from pathlib import Path

from taut.host.check import Severity, State
from taut.host.host import Host
from taut.host.settings import KINDS
from taut.host.situation import Role
from taut.host.table import Check
from taut.testing.hosts import POLL, put, tree

ODD = ("", "\n", "-1\n", "N/A\n", "(null)\n", "\x00\xff\n", "99999999999999999999\n", "a b c\n")
"""What a file may hold that no check expects."""

_MOST_READ = 4
"""How many files a check may read one because of the other."""


def conforms(check: Check, folder: Path, *, never_fails: bool = False) -> None:
    """Ask all that follows; `folder` is empty, and machines are made in it."""
    says_what_and_why(check)
    says_the_fault(check, never_fails=never_fails)
    for role in Role:
        is_asked_in_its_roles_alone(check, role, folder / "bare")
        judges_a_machine_that_shows_nothing(check, role, folder / "bare")
    for number, odd in enumerate(ODD):
        judges_odd_contents(check, odd, folder / f"odd{number}")
    remedies_are_its_own(check, folder / "bare")


def says_what_and_why(check: Check) -> None:
    """It has words for the audit, and says who says so."""
    for name in ("title", "why", "source"):
        assert getattr(check, name), f"{check.id}: it has no {name}"
    assert check.severity in Severity, f"{check.id}: its severity is none"


def says_the_fault(check: Check, *, never_fails: bool = False) -> None:
    """Where it fails, a short sentence says what is wrong."""
    fault = check.fault
    assert bool(fault) != never_fails, f"{check.id}: its fault is {fault!r}"
    assert len(fault) <= 60, f"{check.id}: its fault has {len(fault)} letters, 60 at most"
    assert not fault.endswith("."), f"{check.id}: its fault ends with a full stop"


def is_asked_in_its_roles_alone(check: Check, role: Role, folder: Path) -> None:
    """In another role it is not applicable."""
    observed = check.inspect(tree(folder, {}), replace(POLL, role=role)).observed
    is_not_asked = observed.startswith(f"not asked of a {role}")
    assert is_not_asked or role in check.roles, f"{check.id}: asked of a {role}: {observed}"


def judges_a_machine_that_shows_nothing(check: Check, role: Role, folder: Path) -> None:
    """Without a single file it says what it observed, and what it would need to know more."""
    host, situation = tree(folder, {}), replace(POLL, role=role)
    finding = check.inspect(host, situation)
    assert finding.observed, f"{check.id}: of a machine without files it says nothing"
    is_told = finding.needs or finding.state is not State.UNKNOWN
    assert is_told, f"{check.id}: unknown, and it does not say what it needs"
    check.propose(host, situation)


def judges_odd_contents(check: Check, odd: str, folder: Path) -> None:
    """Every file it reads of a bare machine, found by watching it read, holds `odd`."""
    for _ in range(_MOST_READ):
        host = _Listening(folder)
        check.inspect(host, POLL)
        for path in host.asked:
            if not (folder / path.lstrip("/")).exists():
                put(folder, path, odd)
    assert check.inspect(Host(folder), POLL).observed, f"{check.id}: of {odd!r} it says nothing"
    for remedy in check.propose(Host(folder), POLL):
        for change in remedy.changes:
            change.setting.read(Host(folder))


def remedies_are_its_own(check: Check, folder: Path) -> None:
    """They bear its id, do something, and change settings that can be undone."""
    for remedy in check.propose(tree(folder, {}), POLL):
        assert remedy.id.startswith(f"{check.id}-"), f"{remedy.id}: not a name of {check.id}"
        assert remedy.summary, f"{remedy.id}: it has no summary"
        does = remedy.changes or remedy.boot or remedy.by_hand
        assert does, f"{remedy.id}: it does nothing"
        for change in remedy.changes:
            assert change.setting.kind in KINDS, f"{remedy.id}: no kind {change.setting.kind}"


class _Listening(Host):
    """Remembers which files were asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        object.__setattr__(self, "asked", [])

    asked: list[str]

    def read_bytes(self, path: str) -> bytes | None:
        self.asked.append(path)
        return super().read_bytes(path)
