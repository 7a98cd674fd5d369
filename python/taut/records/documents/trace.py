"""trace.json: what taut-trace recorded beside a trial, and what it could not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from taut.records.documents.json_field import LEFT_OUT, rest
from taut.records.documents.json_form import JsonObject

TRACE_FILE = "trace.json"
LOST_SENDERS = "initiators"

PerCore: TypeAlias = Mapping[str, int | None]
"""By core number; None: it could not be read."""


@dataclass(frozen=True)
class EventMissing:
    """An event this kernel does not have."""

    event: str = ""
    costs: str = ""
    """What cannot be told without it, in words."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class EventsLost:
    """Events of a core that are not in the record."""

    cpu: int
    n: int
    of: str = ""
    """`core`: of what happened there; LOST_SENDERS: of what was done there to the watched cores."""


@dataclass(frozen=True)
class Throttling:
    """How long a control group had to wait for its quota."""

    throttled_us: int | None = None
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class ThreadCounters:
    """What the kernel counts of one thread; None: it could not be read."""

    minflt: int | None = field(default=None, metadata=LEFT_OUT)
    majflt: int | None = field(default=None, metadata=LEFT_OUT)
    voluntary: int | None = field(default=None, metadata=LEFT_OUT)
    nonvoluntary: int | None = field(default=None, metadata=LEFT_OUT)
    run_delay_ns: int | None = None
    cgroups: Mapping[str, Throttling | None] = field(default_factory=dict)
    """By name: its control group, and each above it; those of the reading before are read again,
    whatever became of the thread. None: the group is gone."""
    others: JsonObject = field(default_factory=dict, metadata=rest())

    @property
    def counts(self) -> Mapping[str, int | None]:
        """What a cause may name as the counter of its events."""
        return {
            "minflt": self.minflt,
            "majflt": self.majflt,
            "voluntary": self.voluntary,
            "nonvoluntary": self.nonvoluntary,
        }


@dataclass(frozen=True)
class CountersRead:
    """The kernel's counters at one moment; None: not read by the taut-trace of that time."""

    interrupts: Mapping[str, PerCore] | None = field(default=None, metadata=LEFT_OUT)
    """By the row of /proc/interrupts: a number, or a name as LOC."""
    softirqs: Mapping[str, PerCore] | None = field(default=None, metadata=LEFT_OUT)
    steal_jiffies: PerCore | None = field(default=None, metadata=LEFT_OUT)
    smi: PerCore | None = field(default=None, metadata=LEFT_OUT)
    threads: Mapping[str, ThreadCounters | None] = field(default_factory=dict)
    """By thread id; None: it had ended. One that ended in between has its control groups alone."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class CountersAround:
    """Read right before the trace and right after it."""

    before: CountersRead | None = None
    after: CountersRead | None = None


@dataclass(frozen=True)
class TraceDocument:
    """What is known of a trace besides its events."""

    kernel: str | None = field(default=None, metadata=LEFT_OUT)
    """The release of the kernel (uname -r); None: not noted by the taut-trace of that time."""
    cores: tuple[int, ...] | None = field(default=None, metadata=LEFT_OUT)
    threads: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    """Names of threads by id; functions are by address, interrupts by number."""
    functions: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    irqs: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    missing: tuple[EventMissing, ...] | None = field(default=None, metadata=LEFT_OUT)
    lost: tuple[EventsLost, ...] | None = field(default=None, metadata=LEFT_OUT)
    counters: CountersAround | None = field(default=None, metadata=LEFT_OUT)
    armed_tsc: int | None = field(default=None, metadata=LEFT_OUT)
    stopped_tsc: int | None = field(default=None, metadata=LEFT_OUT)
    armed_ns: int | None = field(default=None, metadata=LEFT_OUT)
    """When the trace began, in ns on the clock of the trial's packets."""
    stopped_ns: int | None = field(default=None, metadata=LEFT_OUT)
    others: JsonObject = field(default_factory=dict, metadata=rest())
