"""Undo: puts back what the journal holds, in reverse order, byte for byte.

First everything is compared: a value that is neither the old one nor what taut put there was
changed by somebody else, and then nothing is written unless forced. An undo that died can be called
again. Files put in place for a boot can be taken back alone: what is in force now then stays.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from taut.host.boot.entries import is_boot_entry, still_with_ours
from taut.host.granted import counts_held, is_count, with_grants
from taut.host.host import Host
from taut.host.inheriting import InheritingThread, give_back
from taut.host.journal import Journal, boot_id
from taut.host.journal_lines import Contents, Entry, Kept
from taut.host.setting import HALF_MADE, Setting
from taut.host.settings.file import FileSetting
from taut.host.settings.held_latency import HeldLatency
from taut.host.settings.irq_placement import IrqPlacement, bring_back
from taut.host.settings.placed_file import PlacedFile
from taut.host.settings.placed_folder import PlacedFolder
from taut.host.settings.thread_affinity import ThreadAffinity, is_online_part
from taut.host.writer import Writer

_OUTLIVE_A_BOOT = frozenset({PlacedFile.kind, PlacedFolder.kind})
# For these None is a value (no such file, folder or holder); for others, the device is gone.
_CAN_BE_ABSENT = _OUTLIVE_A_BOOT | {HeldLatency.kind}


@dataclass(frozen=True)
class Touched:
    """A value that somebody else changed, or that could not be put back."""

    setting: Setting
    old: str | None
    in_force: str | None
    why: str = ""


@dataclass
class UndoReport:
    """What undo did, or what kept it from it."""

    restored: list[Setting] = field(default_factory=list)
    was_as_before: list[Setting] = field(default_factory=list)
    by_reboot: list[Touched] = field(default_factory=list)
    """Values that a reboot has taken back."""
    gone: list[Setting] = field(default_factory=list)
    """Threads, devices and entries of the boot loader that are no longer there."""
    strangers: list[Touched] = field(default_factory=list)
    """Changed by somebody else: nothing was written, unless forced."""
    widened: Sequence[InheritingThread] = ()
    """Threads started since by threads that apply moved: they have the cores of before as well."""
    inheriting: Sequence[InheritingThread] = ()
    """Such threads with a single core, which they may have chosen: they keep it."""
    elsewhere: list[IrqPlacement] = field(default_factory=list)
    """Interrupts with their old masks still served by another core: they have not fired since."""
    still_booted: Mapping[str, str] = field(default_factory=dict)
    """Parameters that entries of the boot loader have from taut, made since; by path."""
    failed: list[Touched] = field(default_factory=list)
    complaints: Sequence[str] = ()
    archive: Path | None = None
    still_listed: str = ""
    """Why the journal still lists what is taken back: it cannot be written; empty: it does not."""
    is_refused: bool = False
    was_empty: bool = False

    @property
    def is_good(self) -> bool:
        """Whether everything is as it was."""
        return not (self.is_refused or self.failed or self.complaints)


def undo(
    host: Host,
    writer: Writer,
    journal: Journal,
    *,
    force: bool = False,
    generations: Collection[int] | None = None,
    only_files: bool = False,
) -> UndoReport:
    """Take back what the journal holds, or some applies of it. The caller holds its lock.

    `only_files`: take back only what outlives a boot; what is in force now stays.
    """
    contents = journal.load()
    others = [e for e in contents.entries if not outlives_a_boot(e)] if only_files else []
    if only_files:
        contents = replace(contents, entries=[e for e in contents.entries if outlives_a_boot(e)])
    report = UndoReport(complaints=contents.complaints)
    report.was_empty = not contents.entries and not contents.complaints
    entries = [
        entry
        for entry in reversed(_begun(contents))
        if generations is None or entry.generation in generations
    ]
    ours = _of_this_boot(host, entries, report)
    with counts_held(host, ours):
        ours = with_grants(host, ours)
        report.strangers = find_strangers(host, ours)
        if report.strangers and not force:
            report.is_refused = True
            return report
        for entry in ours:
            _restore(host, writer, journal, entry, report)
        _bring_back(host, writer, ours, report)
        report.widened, report.inheriting = give_back(host, writer, ours)
        _verify(host, writer, ours, report)
    report.still_booted = still_with_ours(host, ours)
    try:
        if others:
            _leave(journal, contents, others, report)
        else:
            _close(journal, contents, generations, report, force=force)
    except OSError as error:
        report.still_listed = f"{journal.path}: {error.strerror or error}"
    return report


def outlives_a_boot(entry: Entry) -> bool:
    """Whether what was changed is still so after a reboot."""
    return entry.setting.kind in _OUTLIVE_A_BOOT


def find_strangers(host: Host, entries: Sequence[Entry]) -> list[Touched]:
    """Give what somebody else changed; the entries come last first.

    An entry left behind what the next one found, be it as a setting or as what moved with one.
    """
    expected: dict[Setting, str | None] = {}
    moving = _moving(entries)
    written = {_place(entry.setting) for entry in entries}
    found = []
    for entry in entries:
        setting, place = entry.setting, _place(entry.setting)
        now = expected[place] if place in expected else setting.read(host)
        is_known = is_gone(setting, now) or place in moving
        if not is_known and now != entry.old and not _is_ours(entry, now):
            found.append(Touched(setting, entry.old, now))
        found += _strange_side_effects(host, entry, {*expected, *moving}, written)
        expected |= {_place(kept.setting): kept.old for kept in _all_kept(entry)}
    return found


def _strange_side_effects(
    host: Host, entry: Entry, known: set[Setting], written: set[Setting]
) -> list[Touched]:
    """What moved with a setting, and was changed by somebody else since: files, or `written`."""
    found = []
    for kept, after in zip(entry.side_effects, entry.others_in_force, strict=False):
        is_judged = kept.setting.kind == FileSetting.kind or kept.setting in written
        if not is_judged or _place(kept.setting) in known:
            continue
        now = kept.setting.read(host)
        if now not in (kept.old, after, None):
            found.append(Touched(kept.setting, kept.old, now))
    return found


def _place(setting: Setting) -> Setting:
    """A file is one place, in whatever form its value is known."""
    return FileSetting(setting.path) if isinstance(setting, FileSetting) else setting


def _all_kept(entry: Entry) -> Sequence[Kept]:
    """Give the old values of the setting and of what moved with it."""
    return (Kept(entry.setting, entry.old), *entry.side_effects)


def _begun(contents: Contents) -> Sequence[Entry]:
    """Leave out the changes that a dead apply had not come to: taut did not write those.

    Where lines are lost nobody knows how far it came; after a crash of the machine, nor for files.
    """
    if contents.complaints:
        return contents.entries
    last: dict[int, int] = {}
    for entry in contents.entries:
        if entry.is_written:
            last[entry.generation] = entry.index
    return [
        entry
        for entry in contents.entries
        if entry.is_settled
        or entry.is_undoing
        or outlives_a_boot(entry)
        or entry.is_written
        or entry.is_begun
        or (entry.is_begun is None and entry.index <= last.get(entry.generation, -1) + 1)
    ]


def _of_this_boot(host: Host, entries: Sequence[Entry], report: UndoReport) -> list[Entry]:
    """Leave out the changes that a reboot took back, and note them in the report."""
    boot = boot_id(host)
    ours = []
    for entry in entries:
        if entry.boot == boot or outlives_a_boot(entry):
            ours.append(entry)
        else:
            now = entry.setting.read(host)
            report.by_reboot.append(Touched(entry.setting, entry.old, now))
    return ours


def _moving(entries: Sequence[Entry]) -> set[Setting]:
    """Places that an apply or an undo that died may have moved as a side effect."""
    return {
        _place(kept.setting)
        for entry in entries
        if not entry.is_settled or entry.is_undoing
        for kept in entry.side_effects
    }


def _is_ours(entry: Entry, now: str | None) -> bool:
    """Whether taut put it there, or died while it did."""
    setting = entry.setting
    if entry.is_undoing or now == HALF_MADE:
        return True
    if entry.is_written:
        return now == entry.in_force or setting.agrees(now, entry.in_force)
    return setting.agrees(now, entry.wanted) or _is_halfway(entry, now)


def _is_halfway(entry: Entry, now: str | None) -> bool:
    """Whether a kill stopped the kernel amid one write (mm/hugetlb.c: set_max_huge_pages)."""
    if not is_count(entry.setting):
        return False
    try:
        old, number, wanted = int(entry.old or ""), int(now or ""), int(entry.wanted)
    except ValueError:
        return False
    return min(old, wanted) <= number <= max(old, wanted)


def is_gone(setting: Setting, now: str | None) -> bool:
    """Whether what was read means that the thread, device or kernel is there no more."""
    return now is None and (setting.kind not in _CAN_BE_ABSENT or is_boot_entry(setting))


def _restore(
    host: Host, writer: Writer, journal: Journal, entry: Entry, report: UndoReport
) -> None:
    """Write what differs: the setting, then what moved with it."""
    now = entry.setting.read(host)
    has_gone = is_gone(entry.setting, now) and entry.old is not None
    others = [kept for kept in entry.side_effects if kept.setting.read(host) != kept.old]
    if has_gone:
        report.gone.append(entry.setting)
    elif now == entry.old and not others:
        report.was_as_before.append(entry.setting)
        return
    # A journal that cannot be written must not keep the host as it is.
    with suppress(OSError):
        journal.undoing(entry)
    if not has_gone and now != entry.old:
        _put(writer, entry.setting, entry.old)
        report.restored.append(entry.setting)
    for kept in entry.side_effects:
        is_exact = _is_exact(kept.setting, kept.setting.read(host), kept.old)
        if not is_exact and not isinstance(kept.setting, IrqPlacement):
            _put(writer, kept.setting, kept.old)


def _bring_back(host: Host, writer: Writer, entries: Sequence[Entry], report: UndoReport) -> None:
    """Bring all interrupts back at once, since each may take long to move."""
    placements = [
        (setting, old)
        for setting, old in _truth(entries).items()
        if isinstance(setting, IrqPlacement) and old is not None
    ]
    away = [(each, old) for each, old in placements if each.read(host) not in (old, None)]
    report.elsewhere = bring_back(writer, away) if away else []


def _verify(host: Host, writer: Writer, entries: Sequence[Entry], report: UndoReport) -> None:
    """Read everything again, and put back once more what writing another setting moved."""
    truth = _truth(entries)
    why = {
        setting: _put(writer, setting, old)
        for setting, old in truth.items()
        if not _is_as_before(host, setting, setting.read(host), old)
    }
    for setting, old in truth.items():
        now = setting.read(host)
        if not _is_as_before(host, setting, now, old):
            report.failed.append(Touched(setting, old, now, why.get(setting, "")))


def _truth(entries: Sequence[Entry]) -> dict[Setting, str | None]:
    """What every setting was before the first of these applies; the entries come last first."""
    first = {_place(kept.setting): kept for entry in entries for kept in _all_kept(entry)}
    return {kept.setting: kept.old for kept in first.values()}


def _is_exact(setting: Setting, now: str | None, old: str | None) -> bool:
    return now == old or is_gone(setting, now)


def _is_as_before(host: Host, setting: Setting, now: str | None, old: str | None) -> bool:
    """Whether a setting is as before: a file must have the same text, other kinds must agree."""
    if _is_exact(setting, now, old):
        return True
    if isinstance(setting, ThreadAffinity) and is_online_part(host, now, old):
        return True
    return setting.kind != FileSetting.kind and setting.agrees(now, old)


def _put(writer: Writer, setting: Setting, value: str | None) -> str:
    """Write a value; give why that failed, or nothing. Whether it took effect is read later."""
    try:
        setting.write(writer, value)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _leave(
    journal: Journal, contents: Contents, others: Sequence[Entry], report: UndoReport
) -> None:
    """Remove what was taken back from the journal; a corrupt journal stays as it is."""
    if not (report.failed or report.was_empty or contents.complaints):
        journal.keep(others, "undone")


def _close(
    journal: Journal,
    contents: Contents,
    generations: Collection[int] | None,
    report: UndoReport,
    *,
    force: bool,
) -> None:
    """Mark what is taken back; put the journal aside once nothing is left in it."""
    if report.failed or report.was_empty:
        return
    known = {entry.generation for entry in contents.entries}
    done = known if generations is None else known & set(generations)
    if known - done:
        if not contents.complaints:
            for generation in sorted(done):
                journal.undone(generation)
    elif journal.is_there and (force or not contents.complaints):
        report.archive = journal.archive("corrupt" if contents.complaints else "undone")
