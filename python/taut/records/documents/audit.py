"""An audit: what `taut host audit --json` prints and a run's manifest keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from taut.records.documents.json_field import LEFT_OUT

AUDIT_FORMAT = 1

StateOfCheck: TypeAlias = Literal["PASS", "FAIL", "UNKNOWN", "NOT_APPLICABLE"]


@dataclass(frozen=True)
class RemedyDocument:
    """What mends a check that failed."""

    id: str
    summary: str
    by_hand: str
    """What a person has to do; empty: taut can do it."""
    profile: str
    measure: str


@dataclass(frozen=True)
class CheckDocument:
    """What one check found."""

    id: str
    title: str
    state: StateOfCheck
    severity: str = ""
    fault: str = ""
    """What is wrong, as the title of a failure; empty in documents older than this key."""
    observed: str = ""
    wanted: str = ""
    needs: str = ""
    """What taut would have to read to judge; empty unless the state is UNKNOWN."""
    cores: str | None = field(default=None, metadata=LEFT_OUT)
    why: str = ""
    source: str | None = field(default=None, metadata=LEFT_OUT)
    remedies: tuple[RemedyDocument, ...] = ()


@dataclass(frozen=True)
class AuditDocument:
    """Every check of a host in one situation."""

    checks: tuple[CheckDocument, ...]
    format: int = AUDIT_FORMAT
    role: str = ""
    cores: str = ""
    """The polling cores as a list, "2-3"; empty: nobody named any."""
    online: str = ""
    processes: tuple[int, ...] = ()
    interfaces: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    watched_s: float = 0.0
    """For how many seconds counters were watched; 0: not at all."""
    traced: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many checks are in each state."""
