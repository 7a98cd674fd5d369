"""What a cause is: one reason why a packet was late, and where its remedies are.

To add one: a file in causes/ that ends in `CAUSE = Cause(...)` and its line in CAUSES. What makes
an event belong to a cause stands in explain/timeline.py, what makes a gap without events belong to
one in explain/judge.py.
"""

from collections.abc import Mapping
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
    """What of trace.json's counters counts it: "interrupts:LOC", "threads:minflt"; which events
    that are stands in explain/counted.py.
    """
    ask: str = ""
    """Where no check helps: what to look at."""


GRADES = {
    "A": "seen and confirmed: the event was recorded, and its sender is proved by the event's own "
    "fields, or a counter agrees in number with the events recorded",
    "B": "seen: the event was recorded, and nothing else confirms it",
    "C": "by exclusion: nothing that was recorded explains it, or only several causes together do",
    "D": "maybe: a guess, or unknown; part of the evidence is missing",
}

_SAYS_NOTHING = ("unknown", "trace-lost")


def is_guess(cause: str, grade: str) -> bool:
    """Whether a verdict is a guess, to be told with "maybe"; that nothing is known is none."""
    return grade == "D" and cause not in _SAYS_NOTHING


def count_guesses(cause: str, n_by_grade: Mapping[str, int]) -> int:
    """Of packets with a verdict of this cause, counted by grade: how many are guesses."""
    return sum(n for grade, n in n_by_grade.items() if is_guess(cause, grade))


def title_words(title: str, n_guesses: int, n: int) -> str:
    """A cause's title, with "maybe" where all of its verdicts are guesses, or how many are."""
    if not n_guesses:
        return title
    return f"maybe {title}" if n_guesses == n else f"{title} ({n_guesses:,} of {n:,}: maybe)"
