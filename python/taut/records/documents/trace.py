"""trace.json: what taut-trace recorded beside a trial, and what it could not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.json_form import LEFT_OUT, JsonObject, rest

TRACE_FILE = "trace.json"


@dataclass(frozen=True)
class EventMissing:
    """An event this kernel has not."""

    event: str = ""
    costs: str = ""
    """What is not known without it."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class EventsLost:
    """Events of a core that are not in the record."""

    cpu: int
    n: int
    of: str = ""


@dataclass(frozen=True)
class CountersRead:
    """The kernel's counters at one moment."""

    threads: Mapping[str, JsonObject | None] = field(default_factory=dict)
    """By thread id: minflt, majflt, voluntary, nonvoluntary, run_delay_ns, and the limits of its
    control groups by name in cgroups; None: it had ended."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class CountersAround:
    """Read right before the trace and right after it."""

    before: CountersRead | None = None
    after: CountersRead | None = None


@dataclass(frozen=True)
class TraceDocument:
    """A trace, but for its events."""

    cores: tuple[int, ...] | None = field(default=None, metadata=LEFT_OUT)
    threads: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    """Names by number, as those of functions and interrupts."""
    functions: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    irqs: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    missing: tuple[EventMissing, ...] | None = field(default=None, metadata=LEFT_OUT)
    lost: tuple[EventsLost, ...] | None = field(default=None, metadata=LEFT_OUT)
    counters: CountersAround | None = field(default=None, metadata=LEFT_OUT)
    armed_tsc: int | None = field(default=None, metadata=LEFT_OUT)
    stopped_tsc: int | None = field(default=None, metadata=LEFT_OUT)
    armed_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """In the time of the trial's packets."""
    stopped_ns: int | None = field(default=None, metadata=LEFT_OUT)
    others: JsonObject = field(default_factory=dict, metadata=rest())
