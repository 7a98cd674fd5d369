"""A row of the catalogue of checks: data, and a function that judges; and what rows share.

To add a check: its row in the table of its topic (host/checks/), a judging function if the row
needs one, and rows of a good and a bad host in tests/host/checks/.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from taut.host.boot.item import BootItem
from taut.host.check import Finding, Profile, Remedy, Rollback, Severity, not_applicable
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation
from taut.host.view import CannotJudge, View

CRITICAL, MAJOR, MINOR, NOTE = (
    Severity.CRITICAL,
    Severity.MAJOR,
    Severity.MINOR,
    Severity.NOTE,
)
MINIMAL, RECOMMENDED, EXTREME = Profile.MINIMAL, Profile.RECOMMENDED, Profile.EXTREME
REBOOT = Rollback.REBOOT

GROUPS = ("HW", "K", "R", "A", "V", "G", "C")
"""Letters of the ids in the catalogue, in its order."""

BARE = frozenset({Role.POLL_CORE, Role.KVM_HOST})
"""Roles B and V of the catalogue, in which the hardware is ours."""
POLLING = BARE | {Role.KVM_GUEST}
"""Roles B, V and G of the catalogue, in which the kernel is ours."""
EVERYWHERE = frozenset(Role)
KVM_HOSTS, GUESTS = frozenset({Role.KVM_HOST}), frozenset({Role.KVM_GUEST})
CONTAINERS = frozenset({Role.CONTAINER})
WITH_CONTAINERS = POLLING | {Role.CONTAINER}
"""Every role in which something may poll."""

Remedies = Remedy | Sequence[Remedy] | Callable[[View], Iterable[Remedy]]
"""Fixed remedies, or a function that makes them for what a check sees."""


@dataclass(frozen=True)
class Check:
    """One row. `judge` is only called in the check's roles."""

    id: str
    """The id in the catalogue: R06."""
    title: str
    fault: str
    """A short sentence: what is wrong where it fails. Empty: it never fails."""
    severity: Severity
    judge: Callable[[View], Finding]
    wanted: str = ""
    roles: frozenset[Role] = POLLING
    why: str = ""
    source: str = ""
    remedies: Remedies = ()
    """Their ids are without the check's: now, boot."""
    host_does: str = ""
    """What the host of a container has to do; there it is the only remedy."""
    watches: Sequence[str] = ()
    """Patterns of files to read twice; {pid}: of each polling process."""
    traces: Sequence[str] = ()
    """Kernel events to record, as timer/tick_stop."""

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge a host; not applicable in other roles than the check's."""
        if situation.role not in self.roles:
            return not_applicable(f"not asked of a {situation.role}")
        try:
            return self.judge(View(host, situation, self.wanted))
        except CannotJudge as reason:
            return reason.finding

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Give what would help; in a container, what its host has to do."""
        if self.host_does and situation.role is Role.CONTAINER:
            found: Iterable[Remedy] = (on_the_host(self.host_does),)
        elif isinstance(self.remedies, Remedy):
            found = (self.remedies,)
        elif callable(self.remedies):
            found = self.remedies(View(host, situation, self.wanted))
        else:
            found = self.remedies
        return tuple(replace(remedy, id=f"{self.id}-{remedy.id}") for remedy in found)


def file_check(
    id: str,  # noqa: A002 - as in Check
    title: str,
    fault: str,
    severity: Severity,
    path: str,
    is_good: Callable[[str], bool],
    wanted: str,
    *,
    why: str,
    source: str,
    put: str | None = None,
    form: str = "number",
    applies: Callable[[View], None] = lambda _: None,
    roles: frozenset[Role] = POLLING,
    boot_with: Sequence[BootItem] = (),
    risk: str = "",
    cost: str = "",
) -> Check:
    """Give the row of a file that holds one value.

    `is_good` gets the stripped text and raises ValueError where it makes no sense. `put` is what
    the remedy writes; None: it cannot be changed now. `applies` raises CannotJudge where the file
    has no effect.
    """

    def judge(see: View) -> Finding:
        applies(see)
        text = see.text(path)
        try:
            return see.good_if(is_good(text), f"{path} = {text}")
        except ValueError:
            see.odd(path)

    remedies = []
    if put is not None:
        remedies.append(now(f"write {put} to {path}", write(path, put, form), risk=risk, cost=cost))
    if boot_with:
        remedies.append(boot(f"at boot: {wanted}", *boot_with, risk=risk, cost=cost))
    return Check(
        id,
        title,
        fault,
        severity,
        judge,
        wanted,
        roles,
        why,
        source,
        remedies,
        host_does=f"{path}: {wanted}",
    )


def write(path: str, value: str, form: str = "number", *, may_refuse: bool = False) -> Change:
    """Change a file of /proc or /sys; `form` as in settings/file.py."""
    return Change(FileSetting(path, form, may_refuse), value)


class Terms(TypedDict, total=False):
    """What a remedy may say besides what it does: the fields of Remedy."""

    profile: Profile
    risk: str
    cost: str
    measure: str
    by_name: str
    rollback: Rollback
    after: Sequence[str]
    now_by: str


def now(
    summary: str,
    *changes: Change,
    id: str = "now",  # noqa: A002 - as in Remedy
    **terms: Unpack[Terms],
) -> Remedy:
    """Make a remedy that changes a running machine."""
    return Remedy(id, summary, changes=changes, **terms)


def boot(
    summary: str,
    *items: BootItem,
    id: str = "boot",  # noqa: A002 - as in Remedy
    **terms: Unpack[Terms],
) -> Remedy:
    """Make a remedy that takes effect at the next boot."""
    return Remedy(id, summary, boot=items, **terms)


def by_hand(summary: str, what: str, **terms: Unpack[Terms]) -> Remedy:
    """Make a remedy that only a person can carry out."""
    return Remedy("by-hand", summary, by_hand=what, **terms)


def on_the_host(what: str) -> Remedy:
    """Make a remedy that only the host of a guest or container can carry out."""
    return by_hand("change it on the host", f"on the host: {what}")
