"""Hosts that a check is shown, one a row: the files of the host, and what the check has to say.

A test goes through a table of them and calls `holds`; docs/reference.md shows the first good and
the first bad host of each of taut's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from taut.host.check import Finding, Remedy, State
from taut.host.checks import CHECKS
from taut.host.plan import check_names
from taut.host.plan_document import item_text
from taut.host.situation import Role, Situation
from taut.host.table import Check
from taut.testing.hosts import BARE_METAL, POLL, judge, remedied, tree

HOUSEKEEPING = replace(POLL, role=Role.HOUSEKEEPING)
KVM_HOST = replace(POLL, role=Role.KVM_HOST, are_for_guests=True)
"""As with --role kvm-host: the cores are the guests'."""
GUEST = replace(POLL, role=Role.KVM_GUEST, machine=replace(BARE_METAL, hypervisor="kvm"))
CONTAINER = replace(POLL, role=Role.CONTAINER)
NOBODY = replace(POLL, cores=())
"""Nobody named the cores that poll."""


@dataclass(frozen=True)
class Row:
    """One host, and what a check has to say of it."""

    check: str
    state: State
    files: Mapping[str, str]
    said: tuple[str, ...] = ()
    """Words of the finding: what was seen, wanted, needed, and what is wrong."""
    situation: Situation = POLL
    cores: tuple[int, ...] | None = None
    """The finding's; None: not looked at."""
    remedies: str | None = None
    """Ids without the check's, in their order: "now boot". None: not looked at."""
    does: tuple[str, ...] = ()
    """Words of the remedies."""
    mends: bool = False
    """Whether the check passes once its changes are made, and all is as before once undone."""

    def __str__(self) -> str:
        return f"{self.check}-{self.state}"

    def _check(self) -> Check:
        return next(check for check in CHECKS if check.id == self.check)

    def finding(self, root: Path) -> Finding:
        """Make the host and judge it."""
        return judge(self._check(), root, self.files, self.situation)

    def holds(self, root: Path) -> None:
        """Assert all the row says."""
        found = self.finding(root)
        assert found.state is self.state, found
        text = "; ".join((found.observed, found.wanted, found.needs, found.fault))
        for words in self.said:
            assert words in text
        if self.cores is not None:
            assert found.cores == self.cores
        proposed = self._check().propose(tree(root, {}), self.situation)
        if self.remedies is not None:
            ids = [remedy.id.partition("-")[2] for remedy in proposed]
            assert " ".join(ids) == self.remedies
        check_names(CHECKS, [remedy.id for remedy in proposed])
        told = "\n".join(line for remedy in proposed for line in _told(remedy))
        for words in self.does:
            assert words in told, told
        if self.mends:
            with remedied(self._check(), root, self.situation):
                pass


def good(
    check: str,
    files: Mapping[str, str],
    *said: str,
    on: Situation = POLL,
    cores: tuple[int, ...] | None = None,
) -> Row:
    """A host that passes."""
    return Row(check, State.PASS, files, said, on, cores)


def bad(
    check: str,
    files: Mapping[str, str],
    *said: str,
    on: Situation = POLL,
    cores: tuple[int, ...] | None = None,
    remedies: str | None = None,
    does: tuple[str, ...] = (),
    mends: bool = False,
) -> Row:
    """A host that fails, and what would help."""
    return Row(check, State.FAIL, files, said, on, cores, remedies, does, mends)


def unseen(check: str, files: Mapping[str, str], *said: str, on: Situation = POLL) -> Row:
    """A host of which the check cannot tell."""
    return Row(check, State.UNKNOWN, files, said, on)


def skipped(check: str, files: Mapping[str, str], *said: str, on: Situation = POLL) -> Row:
    """A host with nothing to judge."""
    return Row(check, State.NOT_APPLICABLE, files, said, on)


def odd(
    check: str,
    path: str,
    *texts: str,
    files: Mapping[str, str] | None = None,
    on: Situation = POLL,
) -> Iterator[Row]:
    """Hosts that are unknown for what one file holds."""
    for text in texts:
        yield Row(check, State.UNKNOWN, {**(files or {}), path: text}, (), on)


def _told(remedy: Remedy) -> Iterator[str]:
    yield from (remedy.id, remedy.summary, remedy.by_hand, remedy.risk, remedy.cost)
    yield from (remedy.measure, " ".join(remedy.after), remedy.profile.name.lower())
    yield from (f"{change.setting.name} = {change.wanted}" for change in remedy.changes)
    yield from (item_text(item) for item in remedy.boot)
