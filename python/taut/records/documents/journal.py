"""The journal of `taut host apply`: one JSON record a line, each with a checksum of its own.

host/journal_lines.py says how they follow one another, and reads them back.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from taut.records.documents.json_form import JsonObject

JOURNAL_FORMAT = 2


@dataclass(frozen=True)
class HeaderRecord:
    """A generation begins: the changes of one apply, all in the lines that follow."""

    generation: int
    n_changes: int
    format: int
    taut: str = ""
    utc: str = ""
    record: Literal["header"] = "header"


@dataclass(frozen=True)
class KeptRecord:
    """A setting, and what it was before somebody else's change moved it."""

    kind: str
    setting: JsonObject
    """The fields of the setting's dataclass; which one, `kind` says."""
    old: str | None


@dataclass(frozen=True)
class ChangeRecord:
    """A change, before it is made."""

    generation: int
    index: int
    remedy: str
    kind: str
    setting: JsonObject
    old: str | None
    wanted: str
    others: tuple[KeptRecord, ...]
    """Other settings that the kernel moves together with this one."""
    machine: str
    boot: str
    uptime_ticks: int
    holder: str = ""
    """The run that made the change; empty: made by hand, or by taut 0.1.0, which did not say."""
    record: Literal["change"] = "change"


@dataclass(frozen=True)
class WritingRecord:
    """A write is about to happen; what was read right before it."""

    generation: int
    index: int
    old: str | None
    others: tuple[str | None, ...]
    record: Literal["writing"] = "writing"


@dataclass(frozen=True)
class WroteRecord:
    """What is in force after a write, or that the machine refused."""

    generation: int
    index: int
    in_force: str | None
    others: tuple[str | None, ...]
    refusal: str
    record: Literal["wrote"] = "wrote"


@dataclass(frozen=True)
class UndoingRecord:
    """An undo is about to write."""

    generation: int
    index: int
    record: Literal["undoing"] = "undoing"


@dataclass(frozen=True)
class SettledRecord:
    """An apply came to its end."""

    generation: int
    record: Literal["settled"] = "settled"


@dataclass(frozen=True)
class UndoneRecord:
    """All changes of a generation are undone."""

    generation: int
    record: Literal["undone"] = "undone"


JournalRecord: TypeAlias = (
    HeaderRecord
    | ChangeRecord
    | WritingRecord
    | WroteRecord
    | UndoingRecord
    | SettledRecord
    | UndoneRecord
)

RECORDS: dict[str, type[JournalRecord]] = {
    "header": HeaderRecord,
    "change": ChangeRecord,
    "writing": WritingRecord,
    "wrote": WroteRecord,
    "undoing": UndoingRecord,
    "settled": SettledRecord,
    "undone": UndoneRecord,
}
