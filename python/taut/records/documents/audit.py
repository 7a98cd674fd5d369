"""An audit: what `taut host audit --json` prints and a run's manifest keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from taut.records.documents.json_form import LEFT_OUT

AUDIT_FORMAT = 1

StateOfCheck: TypeAlias = Literal["PASS", "FAIL", "UNKNOWN", "NOT_APPLICABLE"]


@dataclass(frozen=True)
class RemedyDocument:
    """What mends a check that failed."""

    id: str
    summary: str
    by_hand: str
    """What a person does; empty: taut can do it."""
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
    """The title of a failure; empty of before there were faults."""
    observed: str = ""
    wanted: str = ""
    needs: str = ""
    """What would tell, where the state is unknown."""
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
    """As a list: "2-3"; empty: not named."""
    online: str = ""
    processes: tuple[int, ...] = ()
    interfaces: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    watched_s: float = 0.0
    """How long counters were watched."""
    traced: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    """Checks by state."""
