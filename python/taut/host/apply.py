"""Apply: with undo, the only code of taut that changes a host.

Every old value is in the journal, on the disk, before the first write. It is read again right
before its own write, and undo restores what was there then. After each write the effective state is
read again.
"""

import errno
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from taut.core.errors import TautError
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.journal_lines import Entry, Kept
from taut.host.setting import Change, Setting
from taut.host.settings.irq_placement import IrqPlacement, is_within
from taut.host.settings.thread_affinity import ThreadAffinity, is_online_part
from taut.host.side_effects import is_of_cores, side_effects, takes_cores
from taut.host.undo import UndoReport, is_gone, outlives_a_boot, undo
from taut.host.writer import Writer

# A device or thread that went away between the audit and the write.
_GONE = {errno.ENOENT, errno.ESRCH, errno.ENODEV}


class Outcome(StrEnum):
    """What became of one change, as apply prints it."""

    IN_FORCE = "in force"
    ALREADY = "already in force"
    OTHER_VALUE = "took another value"
    UNMOVABLE = "unmovable"
    GONE = "not there"
    FAILED = "failed"


@dataclass(frozen=True)
class Wish:
    """A change, and the remedy that asks for it."""

    remedy: str
    change: Change


@dataclass(frozen=True)
class Result:
    """What became of one wish."""

    wish: Wish
    old: str | None
    in_force: str | None
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True)
class ApplyReport:
    """What became of all wishes; `undone` is set where a failure took everything back."""

    results: Sequence[Result]
    undone: UndoReport | None = None
    unsettled: str = ""
    """With `keep_going`, why the journal does not say that the apply ended; empty: it does."""

    @property
    def is_good(self) -> bool:
        """Whether everything is in force that this machine lets anybody change."""
        bad = (Outcome.FAILED, Outcome.OTHER_VALUE)
        return not self.unsettled and not any(result.outcome in bad for result in self.results)


def apply_changes(
    host: Host,
    writer: Writer,
    wishes: Sequence[Wish],
    *,
    keep_going: bool = False,
    holder: str = "",
) -> ApplyReport:
    """Make the changes, in order. A failure takes all of them back, unless `keep_going`.

    `holder` is the run that wants them while it lasts (host/state.py); empty: made by hand.
    """
    journal = Journal(host)
    with journal.locked():
        contents = journal.load()
        if contents.complaints:
            raise TautError(f"{contents.complaints[0]}; call `taut host undo` first")
        lasting = [entry for entry in contents.entries if _lasts(host, entry)]
        if len(lasting) < len(contents.entries):
            journal.keep(lasting, "rebooted")
        already, open_wishes = _split(host, wishes)
        if not open_wishes:
            return ApplyReport(already)
        entries = journal.begin([_record(host, wish) for wish in open_wishes], holder)
        results, unsettled = _make(
            host, writer, journal, open_wishes, entries, keep_going=keep_going
        )
        taken_back = None
        if not keep_going and any(result.outcome is Outcome.FAILED for result in results):
            taken_back = undo(host, writer, journal, generations=[entries[0].generation])
        return ApplyReport([*already, *results], taken_back, unsettled)


def _split(host: Host, wishes: Sequence[Wish]) -> tuple[list[Result], list[Wish]]:
    """Split wishes into what is in force and what is to do; the first for a setting counts."""
    already, todo = [], []
    seen: set[Setting] = set()
    for wish in wishes:
        setting = wish.change.setting
        if setting in seen:
            continue
        seen.add(setting)
        old = setting.read(host)
        if setting.agrees(old, wish.change.wanted):
            already.append(Result(wish, old, old, Outcome.ALREADY))
        else:
            todo.append(wish)
    return already, todo


def _lasts(host: Host, entry: Entry) -> bool:
    """Whether the change has survived reboots until now."""
    return entry.boot == boot_id(host) or outlives_a_boot(entry)


def _record(host: Host, wish: Wish) -> tuple[str, Kept, str, tuple[Kept, ...]]:
    setting = wish.change.setting
    others = tuple(Kept(other, other.read(host)) for other in side_effects(host, setting))
    return wish.remedy, Kept(setting, setting.read(host)), wish.change.wanted, others


@dataclass
class _Made:
    """What the changes so far may have moved: settings known by name, or too many to list."""

    names: set[tuple[str, str]] = field(default_factory=set)
    """Kind and name of settings: a file that moves with another may be known in another form."""
    took_cores: bool = False

    def add(self, entry: Entry) -> None:
        """Note the change that is made next."""
        for setting in (entry.setting, *(kept.setting for kept in entry.side_effects)):
            self.names.add((setting.kind, setting.name))
        self.took_cores |= takes_cores(entry.setting)

    def may_move(self, setting: Setting) -> bool:
        """Whether the changes so far may have changed this setting's value."""
        is_known = (setting.kind, setting.name) in self.names
        return is_known or (self.took_cores and is_of_cores(setting))


def _seen_again(host: Host, entry: Entry, made: _Made) -> Entry:
    """Read the old values once more, except those that the changes made so far may have moved."""

    def now(kept: Kept) -> Kept:
        if made.may_move(kept.setting):
            return kept
        old = kept.setting.read(host)
        # A device that vanished may come back: keep the value it had.
        return kept if is_gone(kept.setting, old) else replace(kept, old=old)

    return replace(
        entry,
        old=now(Kept(entry.setting, entry.old)).old,
        side_effects=tuple(map(now, entry.side_effects)),
    )


def _make(
    host: Host,
    writer: Writer,
    journal: Journal,
    wishes: Sequence[Wish],
    entries: list[Entry],
    *,
    keep_going: bool,
) -> tuple[list[Result], str]:
    """Make the changes in order, up to the first that fails unless `keep_going`.

    The text: see ApplyReport.unsettled.
    """
    results: list[Result] = []
    made = _Made()
    for place, wish in enumerate(wishes):
        entry = entries[place] = _seen_again(host, entries[place], made)
        made.add(entry)
        results.append(_apply(host, writer, journal, wish, entry))
        if results[-1].outcome is Outcome.FAILED and not keep_going:
            return results, ""
    unsettled = ""
    try:
        _settle(host, journal, entries, results)
    except OSError as error:
        unsettled = _not_noted(journal, error)
        if not keep_going:  # All is taken back, as where a change fails.
            results[-1] = replace(results[-1], outcome=Outcome.FAILED, note=unsettled)
            unsettled = ""
    return results, unsettled


def _apply(host: Host, writer: Writer, journal: Journal, wish: Wish, entry: Entry) -> Result:
    """Make one change. Where the journal cannot tell of it, it is not made, or back at once."""
    setting = entry.setting
    try:
        journal.writing(entry)
    except OSError as error:
        note = _not_noted(journal, error)
        return Result(wish, entry.old, setting.read(host), Outcome.FAILED, note)
    outcome, note = Outcome.IN_FORCE, ""
    try:
        setting.write(writer, entry.wanted)
    except OSError as error:
        outcome, note = _refusal(setting, error)
    entry = _read_again(host, replace(entry, refusal=note))
    try:
        journal.wrote(entry)
    except OSError as error:
        with suppress(OSError):
            setting.write(writer, entry.old)
        note = _not_noted(journal, error)
        return Result(wish, entry.old, setting.read(host), Outcome.FAILED, note)
    if outcome is Outcome.IN_FORCE:
        outcome, note = _judged(host, entry)
    return Result(wish, entry.old, entry.in_force, outcome, note)


def _not_noted(journal: Journal, error: OSError) -> str:
    return f"{journal.path} cannot be written: {error.strerror or error}"


def _refusal(setting: Setting, error: OSError) -> tuple[Outcome, str]:
    if error.errno in _GONE:
        return Outcome.GONE, error.strerror or str(error)
    why = setting.unmovable(error)
    if why is not None:
        return Outcome.UNMOVABLE, why
    return Outcome.FAILED, error.strerror or str(error)


def _judged(host: Host, entry: Entry) -> tuple[Outcome, str]:
    """Compare what is in force with what was wanted; for interrupts also the core that serves.

    A thread need not have cores that are offline, which an earlier change may have seen to (HW03).
    """
    setting, found, wanted = entry.setting, entry.in_force, entry.wanted
    is_online = isinstance(setting, ThreadAffinity) and is_online_part(host, found, wanted)
    if not is_online and not setting.agrees(found, wanted):
        return Outcome.OTHER_VALUE, f"wrote {entry.wanted}"
    for kept, now in zip(entry.side_effects, entry.others_in_force, strict=True):
        is_its_own = isinstance(kept.setting, IrqPlacement) and len(entry.side_effects) == 1
        if is_its_own and now is not None and not is_within(now):
            return Outcome.IN_FORCE, f"{now} until it next fires"
    return Outcome.IN_FORCE, ""


def _settle(
    host: Host, journal: Journal, entries: Sequence[Entry], results: Sequence[Result]
) -> None:
    """Say what is in force at the end: later changes may have moved earlier ones."""
    for entry, result in zip(entries, results, strict=True):
        is_accepted = result.outcome in (Outcome.IN_FORCE, Outcome.OTHER_VALUE)
        refusal = "" if is_accepted else result.note
        journal.wrote(_read_again(host, replace(entry, refusal=refusal)))
    journal.settled(entries[0].generation)


def _read_again(host: Host, entry: Entry) -> Entry:
    return replace(
        entry,
        is_written=True,
        in_force=entry.setting.read(host),
        others_in_force=tuple(kept.setting.read(host) for kept in entry.side_effects),
    )
