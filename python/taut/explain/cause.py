"""What a cause is: one reason why a packet was late, as a row of causes.py.

To add one: its row. An interrupt of the processor, a function that another core had called and a
thread with a name of its own are found by the row alone. Other events want a handler in
walk/timeline.py, what has no event a rule in judge/verdicts.py, and what is to be made on purpose
an injector in dataplane/inject/.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum


class Evidence(StrEnum):
    """What a verdict of this cause rests on."""

    EVENT = "event"  # the kernel said so, on that CPU, at that time
    EXCLUSION = "exclusion"  # the thread did not run and no event says why
    PACKETS = "packets"  # the packets' own times and the gap logs


class Away(Enum):
    """Why the polling thread does not run at all while a cause lasts."""

    OTHER = "another thread has its core"
    HALTED = "nobody has its core, but it may not run, or is not awake yet"
    OWN = "the kernel does something for it"


@dataclass(frozen=True)
class Injector:
    """How `taut explain --self-test` has taut-inject make a cause."""

    name: str
    """As taut-inject calls it; mostly the cause's id."""
    options: str = ""
    """As taut-inject takes them after the name: `length=5ms`; empty: its defaults."""
    per_s: int = 100
    """Acts a second."""
    mark: str = ""
    """What the kernel calls the part of the cause that taut-inject makes; empty: nothing of its own
    in the words of a gap tells who made it.
    """

    @property
    def act(self) -> str:
        """As taut-inject takes it: `stopped:length=5ms`."""
        return f"{self.name}:{self.options}" if self.options else self.name


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause of latency. There is one object of each, compared by identity."""

    id: str
    """As documents, options and colours name it; never changed, for old runs have it."""
    title: str
    """As a list names it: "another thread ran"."""
    why: str
    """What happens, in one sentence."""
    evidence: Evidence
    seen_by: str
    """What of the record shows it, for docs/reference.md."""
    colour: tuple[str, str]
    """In every report, of the light and of the dark theme. The hue says the kind: interrupts blue,
    calls from other cores violet to pink, the scheduler orange to red, the thread's own doing
    green, below the kernel brown, packets among themselves petrol, what nobody knows grey.
    """
    noun: str = ""
    """Who had the core, in a sentence: "another thread"; empty: the title says it."""
    did: str = ""
    """Where nobody took the core: what the core did instead of polling, with {time} for how long
    and {who} for the gap's details. Empty: it was taken by the noun.
    """
    vectors: tuple[str, ...] = ()
    """Interrupts of the processor (records/layout.py, EVENT_VECTORS) that are it."""
    calls: tuple[str, ...] = ()
    """Functions that another core had called here and that are it, as callers of kernel/smp.c name
    them (6.1 to 6.18).
    """
    threads: tuple[str, ...] = ()
    """How the names of threads begin whose turn on the core is it."""
    has_sender: bool = False
    """Whether a thread on another core sends it, which the events' own fields may prove."""
    away: Away | None = None
    """None: the polling thread keeps its core; it is interrupted, or late for another reason."""
    counter: str = ""
    """What of trace.json's counters counts it: "interrupts:LOC", "threads:minflt"; which events
    that are stands in explain/read/counted.py.
    """
    remedies: tuple[str, ...] = ()
    """Ids of the host's checks whose remedies make it rarer, the most likely first."""
    ask: str = ""
    """Where no check helps: what to look at."""
    made: Injector | None = None
    """None: the self-test does not make it."""
    not_made: str = "taut inject has no way to make it"
    """Why the self-test does not."""
