"""What a cause is: one reason why a packet was late, and where its remedies are.

To add one: a file in causes/ that ends in `CAUSE = Cause(...)` and its line in CAUSES. What makes
an event belong to a cause stands in explain/timeline.py, what makes a gap without events belong to
one in explain/judge.py.
"""

from dataclasses import dataclass
from enum import StrEnum


class Evidence(StrEnum):
    """What a verdict of this cause rests on."""

    EVENT = "event"  # the kernel said so, on that CPU, at that time
    EXCLUSION = "exclusion"  # the thread did not run and no event says why
    PACKETS = "packets"  # the packets' own times and the gap logs


@dataclass(frozen=True)
class Cause:
    """One cause of latency."""

    id: str
    title: str
    """As a sentence names it: "another thread ran"."""
    why: str
    """What happens, in one sentence."""
    evidence: Evidence
    remedies: tuple[str, ...] = ()
    """Ids of the host's checks whose remedies make it rarer, the most likely first."""
    counter: str = ""
    """What of trace.json's counters moves with it: "interrupts:LOC", "threads:minflt"."""
    ask: str = ""
    """Where no check helps: what to look at."""


GRADES = {
    "A": "the event was seen, and a counter or its sender agrees",
    "B": "the event was seen",
    "C": "by exclusion: nothing that was seen explains it",
    "D": "a guess: part of the evidence is missing",
}
