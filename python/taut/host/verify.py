"""Verify: read the machine again and say whether what apply changed is still in force."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from taut.host.granted import counts_held, with_grants
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.journal_lines import Entry
from taut.host.setting import Setting
from taut.host.undo import outlives_a_boot


class Standing(StrEnum):
    """How a journalled change stands on the machine now."""

    IN_FORCE = "in force"
    CHANGED = "changed by somebody"
    LOST = "lost by reboot"
    NOT_MADE = "not made"  # refused, or taut died before it


@dataclass(frozen=True)
class Verified:
    """One change as it stands now."""

    entry: Entry
    now: str | None
    standing: Standing
    note: str = ""


@dataclass(frozen=True)
class Verification:
    """All changes of a journal, in the order they were made."""

    changes: Sequence[Verified]
    complaints: Sequence[str]

    @property
    def is_good(self) -> bool:
        """Whether all that was made is in force."""
        bad = (Standing.CHANGED, Standing.LOST)
        return not self.complaints and not any(one.standing in bad for one in self.changes)


def verify(host: Host) -> Verification:
    """Compare all changes; a setting that several applies changed counts once, with the last."""
    contents = Journal(host).load()
    last: dict[Setting, Entry] = {entry.setting: entry for entry in contents.entries}
    entries = list(last.values())
    with counts_held(host, entries):
        seen = [_verified(host, entry) for entry in with_grants(host, entries)]
    changes = [replace(one, entry=entry) for one, entry in zip(seen, entries, strict=True)]
    return Verification(changes, contents.complaints)


def _verified(host: Host, entry: Entry) -> Verified:
    now = entry.setting.read(host)
    if entry.refusal:
        return Verified(entry, now, Standing.NOT_MADE, entry.refusal)
    put = entry.in_force if entry.is_written else entry.wanted
    if entry.setting.agrees(now, put):
        return Verified(entry, now, Standing.IN_FORCE)
    if entry.boot != boot_id(host) and not outlives_a_boot(entry):
        return Verified(entry, now, Standing.LOST)
    if not entry.is_written and now == entry.old:
        return Verified(entry, now, Standing.NOT_MADE, "apply ended before it")
    return Verified(entry, now, Standing.CHANGED)
