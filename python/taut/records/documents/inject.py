"""inject.json: what taut-inject did; and what it says it can do."""

from dataclasses import dataclass, field

from taut.records.documents.json_field import rest
from taut.records.documents.json_form import JsonObject


@dataclass(frozen=True)
class ThreadsOfInjection:
    """Ids of the threads that took part."""

    victim: int
    injector: int


@dataclass(frozen=True)
class InjectDocument:
    """One cause, injected for a while."""

    cause: str
    core: int
    sent: int
    not_sent: int
    overdue: int
    records: int
    felt: int | None
    threads: ThreadsOfInjection
    stop: str
    place: str = ""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class CauseDescribed:
    """A cause that can be injected."""

    name: str
    summary: str = ""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class InjectDescribed:
    """What `taut-inject --describe` says."""

    causes: tuple[CauseDescribed, ...]
