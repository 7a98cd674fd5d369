"""What a cause is: one reason why a packet was late, as a row of causes/.

To add one: its row, in the file of its kind. An interrupt of the processor, a function that another
core had called and a thread with a name of its own are found by the row alone. Other events need a
handler in walk/timeline.py, a cause without events needs a rule in judge/verdicts.py, and one that
the self-test should make needs an injector in dataplane/inject/.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum


class Evidence(StrEnum):
    """What a verdict of this cause rests on."""

    EVENT = "event"  # the kernel said so, on that CPU, at that time
    EXCLUSION = "exclusion"  # the thread did not run and no event says why
    PACKETS = "packets"  # the packets' own times and the gap logs


class Away(Enum):
    """Why the polling thread is off its core while a cause lasts."""

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
    """How many acts are begun each second; the self-test lasts accordingly."""
    mark: str = ""
    """The kernel's name for what taut-inject sets off, as it stands in a gap's details; empty: the
    details do not show that taut-inject made it.
    """

    @property
    def act(self) -> str:
        """As taut-inject takes it: `stopped:length=5ms`."""
        return f"{self.name}:{self.options}" if self.options else self.name


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause of latency. There is one object of each, compared by identity."""

    id: str
    """Its name in documents and options; never changed, because old runs contain it."""
    title: str
    """Its name in a list that people read: "another thread ran"."""
    why: str
    """What happens, in one sentence."""
    evidence: Evidence
    seen_by: str
    """Which recorded events or logs show it, for docs/reference.md."""
    colour: tuple[str, str]
    """In every report, for the light and the dark theme; no other cause has it. The hue says the
    kind: its file has it. 3:1 or more against the page (tests/report/test_palette.py).
    """
    noun: str = ""
    """Who had the core, as a sentence names it: "another thread"; empty: the title does."""
    did: str = ""
    """Where nobody took the core: what the core did instead, with {time} for how long, {who} for
    the gap's details and {stood} for "did not poll", or of who is not known to poll what it did not
    do. Empty: the core was taken, and `noun` says by whom.
    """
    vectors: tuple[str, ...] = ()
    """Interrupts of the processor (records/layout.py, EVENT_VECTORS) that are this cause."""
    calls: tuple[str, ...] = ()
    """Functions that are this cause when another core has them called here, by the names that
    kernels 6.1 to 6.18 give to callers in kernel/smp.c.
    """
    threads: tuple[str, ...] = ()
    """Beginnings of the names of threads whose turn on the core is this cause."""
    has_sender: bool = False
    """Whether a thread on another core sends it, which the events' own fields may prove."""
    away: Away | None = None
    """None: the polling thread keeps its core; it is interrupted, or late for another reason."""
    counter: str = ""
    """The counter of trace.json that counts it: "interrupts:LOC", "threads:minflt"; which events
    move it, explain/read/counted.py says.
    """
    remedies: tuple[str, ...] = ()
    """Ids of the host's checks whose remedies make it rarer, the most likely first."""
    ask: str = ""
    """What a person should look at where no check of the host helps."""
    made: Injector | None = None
    """None: the self-test cannot make it; `not_made` says why."""
    not_made: str = "taut inject has no way to make it"
    """Why the self-test does not make it; only used where `made` is None."""


def claims(cause: Cause) -> Iterator[str]:
    """Give what no two causes may have in common, besides the id."""
    yield from (f"the interrupt {name}" for name in cause.vectors)
    yield from (f"the function {name}" for name in cause.calls)
    yield from (f"the thread {name}" for name in cause.threads)
    yield from (f"the colour {colour}" for colour in cause.colour)
    if cause.made is not None:
        yield f"the injector {cause.made.name}"


def refuses(cause: Cause) -> str | None:
    """Say why a cause may not come from a plug-in; None: it may."""
    if not re.fullmatch("[a-z][a-z0-9-]*", cause.id):
        return f"id {cause.id!r}: small letters, digits and - are wanted"
    if not (cause.vectors or cause.calls or cause.threads):
        return "it names no interrupt, function or thread: nothing would find it"
    return None
