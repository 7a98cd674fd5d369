"""What stands in the lines of a journal: one JSON object each, with a checksum."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from taut.core.errors import InputError
from taut.host.setting import Setting
from taut.host.settings import KINDS
from taut.records.documents.journal import (
    JOURNAL_FORMAT,
    RECORDS,
    ChangeRecord,
    HeaderRecord,
    JournalRecord,
    KeptRecord,
    SettledRecord,
    UndoingRecord,
    UndoneRecord,
    WritingRecord,
    WroteRecord,
)
from taut.records.documents.json_form import JsonObject, parse, plain_object

_NO_WRITING = 1
"""The format of journals without `writing` lines."""


@dataclass(frozen=True)
class Kept:
    """A setting and its old value."""

    setting: Setting
    old: str | None


@dataclass(frozen=True)
class Entry:
    """One change of one generation, and what became of it."""

    generation: int
    index: int
    remedy: str
    setting: Setting
    old: str | None
    wanted: str
    side_effects: tuple[Kept, ...]
    machine: str
    boot: str
    uptime_ticks: int
    """When the apply began, in the unit of start times (proc(5))."""
    is_begun: bool | None = False
    """Whether an apply was about to write; None: a journal of format 1 does not tell."""
    is_written: bool = False
    """Whether the write returned, with or without error; if not, taut may have died in it."""
    in_force: str | None = None
    """The value read after the write; None before it, or where there is none."""
    others_in_force: tuple[str | None, ...] = ()
    refusal: str = ""
    is_undoing: bool = False
    """Whether an undo began to write it: the value may be anything between old and wanted."""
    is_settled: bool = False
    """Whether the apply ended, after which `in_force` is final."""
    holder: str = ""
    """The run that wants it for as long as it lasts (host/state.py); empty: made by hand."""


@dataclass(frozen=True)
class Contents:
    """A journal as read."""

    entries: Sequence[Entry] = ()
    """Changes of generations that are not undone, in the order they were written."""
    complaints: Sequence[str] = ()
    """What cannot be read, with line numbers."""
    last_generation: int = 0


class Reader:
    """Puts lines together; a line that cannot be read costs only itself."""

    def __init__(self) -> None:
        self.entries: dict[tuple[int, int], Entry] = {}
        self.n_changes: dict[int, int] = {}
        self.formats: dict[int, int] = {}
        self.undone: set[int] = set()
        self.complaints: list[str] = []

    def read(self, data: bytes) -> Contents:
        """Read a whole journal."""
        lines = data.split(b"\n")
        # The last piece has no line end: empty or torn by a crash; n_changes tells what is missing.
        for number, line in enumerate(lines[:-1], start=1):
            try:
                self._take(_parsed(line))
            except (ValueError, KeyError, TypeError) as error:
                self.complaints.append(f"line {number} of the journal is corrupt ({error})")
        self._count()
        last = max([*self.n_changes, *(generation for generation, _ in self.entries)], default=0)
        ordered = [self.entries[place] for place in sorted(self.entries)]
        kept = [entry for entry in ordered if entry.generation not in self.undone]
        return Contents(kept, self.complaints, last)

    def _take(self, record: JournalRecord) -> None:
        match record:
            case HeaderRecord():
                if record.format not in (_NO_WRITING, JOURNAL_FORMAT):
                    known = f"this taut knows up to {JOURNAL_FORMAT}"
                    raise ValueError(f"format {record.format}, {known}")
                self.formats[record.generation] = record.format
                self.n_changes[record.generation] = record.n_changes
            case ChangeRecord():
                tells = self.formats.get(record.generation, _NO_WRITING) != _NO_WRITING
                self._put(replace(_entry(record), is_begun=False if tells else None))
            case WritingRecord():
                self._begin(record)
            case WroteRecord():
                entry = self._at(record)
                if entry is not None:
                    self._put(
                        replace(
                            entry,
                            is_written=True,
                            in_force=record.in_force,
                            others_in_force=record.others,
                            refusal=record.refusal,
                        )
                    )
            case UndoingRecord():
                entry = self._at(record)
                if entry is not None:
                    self._put(replace(entry, is_undoing=True))
            case SettledRecord():
                for place in [place for place in self.entries if place[0] == record.generation]:
                    self.entries[place] = replace(self.entries[place], is_settled=True)
            case UndoneRecord():
                self.undone.add(record.generation)

    def _begin(self, record: WritingRecord) -> None:
        """Replace the old value by the one read right before this write."""
        entry = self._at(record)
        if entry is None:
            return
        others = zip(entry.side_effects, record.others, strict=True)
        kept = tuple(Kept(other.setting, old) for other, old in others)
        self._put(replace(entry, is_begun=True, old=record.old, side_effects=kept))

    def _at(self, record: WritingRecord | WroteRecord | UndoingRecord) -> Entry | None:
        """Give the change that a record is about; None: that line is corrupt, a complaint."""
        return self.entries.get((record.generation, record.index))

    def _put(self, entry: Entry) -> None:
        self.entries[entry.generation, entry.index] = entry

    def _count(self) -> None:
        generations = {generation for generation, _ in self.entries} | set(self.n_changes)
        for generation in sorted(generations - self.undone):
            n_read = sum(place[0] == generation for place in self.entries)
            wanted = self.n_changes.get(generation)
            if wanted is None:
                self.complaints.append(f"the header of apply {generation} is missing")
            elif n_read < wanted:
                self.complaints.append(
                    f"{wanted - n_read} of {wanted} changes of apply {generation} cannot be read: "
                    "they stay as they are"
                )


def lines_of(data: bytes, places: Collection[tuple[int, int]]) -> str:
    """Give the lines of some changes, by (generation, index), of a journal without complaints."""
    n_changes = Counter(generation for generation, _ in places)
    kept = []
    for line in data.split(b"\n")[:-1]:
        record = _parsed(line)
        if isinstance(record, HeaderRecord):
            record = replace(record, n_changes=n_changes[record.generation])
        if isinstance(record, HeaderRecord | SettledRecord | UndoneRecord):
            is_kept = record.generation in n_changes
        else:
            is_kept = (record.generation, record.index) in places
        if is_kept:
            kept.append(make_line(record))
    return "".join(kept)


def change_record(entry: Entry) -> ChangeRecord:
    """Give the line of a change, before it is made."""
    return ChangeRecord(
        generation=entry.generation,
        index=entry.index,
        remedy=entry.remedy,
        kind=entry.setting.kind,
        setting=_fields_of(entry.setting),
        old=entry.old,
        wanted=entry.wanted,
        others=tuple(
            KeptRecord(kept.setting.kind, _fields_of(kept.setting), kept.old)
            for kept in entry.side_effects
        ),
        machine=entry.machine,
        boot=entry.boot,
        uptime_ticks=entry.uptime_ticks,
        holder=entry.holder,
    )


def _entry(record: ChangeRecord) -> Entry:
    return Entry(
        generation=record.generation,
        index=record.index,
        remedy=record.remedy,
        setting=_setting(record.kind, record.setting),
        old=record.old,
        wanted=record.wanted,
        side_effects=tuple(
            Kept(_setting(other.kind, other.setting), other.old) for other in record.others
        ),
        machine=record.machine,
        boot=record.boot,
        uptime_ticks=record.uptime_ticks,
        holder=record.holder,
    )


def _fields_of(setting: Setting) -> JsonObject:
    """Every setting is a dataclass; the protocol cannot say so."""
    return plain_object(setting)


def _setting(kind: str, values: JsonObject) -> Setting:
    known = KINDS.get(kind)
    if known is None:
        raise ValueError(f"unknown kind of setting {kind!r}")
    arguments: dict[str, Any] = dict(values)
    setting: Setting = known(**arguments)
    return setting


def make_line(record: JournalRecord) -> str:
    """Give the record as one line of JSON with its checksum, line end included."""
    document = plain_object(record)
    return json.dumps({**document, "sum": _sum(document)}) + "\n"


def _parsed(line: bytes) -> JournalRecord:
    """Read one line; ValueError: it is no record, or not as it was written."""
    try:
        record = json.loads(line)
    except ValueError:
        raise ValueError("no JSON") from None
    if not isinstance(record, dict) or record.pop("sum", None) != _sum(record):
        raise ValueError("checksum differs")
    kind = RECORDS.get(record.get("record", ""))
    if kind is None:
        raise ValueError(f"unknown record {record.get('record')!r}")
    try:
        return parse(kind, record, str(record["record"]))
    except InputError as error:
        raise ValueError(str(error)) from None


def _sum(record: JsonObject) -> str:
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
