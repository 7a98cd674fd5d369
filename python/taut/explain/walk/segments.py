"""What the timeline of one core is made of: who had the core, from when to when."""

from array import array
from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import Ints, Mask, Numbers
from taut.explain.cause import Cause
from taut.explain.causes import CAUSES, NUMBER
from taut.records.layout import EVENT_VECTORS

N_CAUSES = len(CAUSES)

# Classes of contexts by what they cost outside their own events (calibrate.py).
ENTRY_CLASSES = (
    "none",
    *EVENT_VECTORS,
    "vector",
    "irq",
    "softirq",
    "call",
    "switch",
    "page_fault",
    "syscall",
    "nmi",
)
CLASS_NUMBER = {name: number for number, name in enumerate(ENTRY_CLASSES)}


@dataclass(frozen=True)
class Segments:
    """Stretches of time that the thread did not have; each belongs to its innermost context.

    `visit` is the interval that a segment is a part of: an interrupt that was itself interrupted
    is one visit with several segments. Indices may be of fewer than 64 bits: a product of them may
    not fit.
    """

    span: Numbers
    start_ns: Ints
    end_ns: Ints
    visit: Numbers
    visit_span: Numbers
    visit_cause: Numbers  # position in CAUSES
    visit_class: Numbers  # position in ENTRY_CLASSES; "none": it adds no cost of its own
    visit_detail: Numbers  # position in `details`
    visit_by: Numbers  # thread that caused it, -1: not known
    visit_joined: Mask  # its sender is known
    details: tuple[str, ...]

    @property
    def cause(self) -> Numbers:
        """The cause of each segment."""
        return self.visit_cause[self.visit]

    @property
    def length_ns(self) -> Ints:
        """How long each segment is."""
        return self.end_ns - self.start_ns


class SegmentLists:
    """Grows while the timeline is walked: arrays as narrow as their values, no objects."""

    def __init__(self) -> None:
        self.segments = tuple(array(kind) for kind in "iqqi")
        self.visits = tuple(array(kind) for kind in "iBBiqB")
        self.details: dict[str, int] = {"": 0}

    def add(self, span: int, start_ns: int, end_ns: int, visit: int) -> None:
        spans, starts, ends, visits = self.segments
        spans.append(span)
        starts.append(start_ns)
        ends.append(end_ns)
        visits.append(visit)

    def open(self, span: int) -> int:
        """Add a visit and give its number; `close` says what it was when it ends."""
        spans, *told = self.visits
        for column in told:
            column.append(0)
        spans.append(span)
        return len(spans) - 1

    def close(
        self, visit: int, cause: Cause, entry: str, detail: str, by: int, joined: bool
    ) -> None:
        """Say what a visit was."""
        _, causes, entries, details, makers, are_joined = self.visits
        causes[visit], entries[visit] = NUMBER[cause], CLASS_NUMBER[entry]
        details[visit] = self.details.setdefault(detail, len(self.details))
        makers[visit], are_joined[visit] = by, joined

    def freeze(self) -> Segments:
        """Give what was added, without a copy of it."""
        span, start, end, visit = map(np.asarray, self.segments)
        visit_span, cause, entry, detail, by, joined = map(np.asarray, self.visits)
        return Segments(
            span,
            start,
            end,
            visit,
            visit_span,
            cause,
            entry,
            detail,
            by,
            joined.astype(bool),
            tuple(self.details),
        )
