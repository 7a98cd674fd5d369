"""The judged gaps of several threads on one line of time: of a chain, those of all its hops.

A packet meets one hop after the other, and its own times do not say which of them held it up. Where
gaps of two hops overlap, the time belongs to the one that began first: what came to it waits there,
and what was past it waits for the other one only once that one stands still alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taut.explain.arrays import Ints, at_or
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.read.spans import Spans


@dataclass(frozen=True)
class OneLine:
    """The gaps in the order of time; `cause` and `grade` are their verdicts."""

    verdicts: tuple[GapVerdicts, ...]
    """One for each thread."""
    spans: Spans
    """None overlaps another; what lies inside another thread's gap is not here."""
    thread: Ints
    """Whose each is: the position in `verdicts`."""
    gap: Ints
    """Which of the gaps of that thread it is."""
    cause: Ints
    grade: Ints

    def at(self, number: int) -> tuple[GapVerdicts, int]:
        """Give a gap as its own thread has it."""
        return self.verdicts[int(self.thread[number])], int(self.gap[number])

    def of_thread(self, thread: int, numbers: Ints) -> Ints:
        """Give the numbers that gaps have in their thread; -1: none, or another thread's."""
        is_its = at_or(self.thread, numbers, -1) == thread
        return np.where(is_its, at_or(self.gap, numbers, -1), -1)


def on_one_line(verdicts: Sequence[GapVerdicts]) -> OneLine | None:
    """Put the gaps of threads on one line; None: there is no thread."""
    if not verdicts:
        return None
    if len(verdicts) == 1:
        [one] = verdicts
        numbers = np.arange(len(one.spans))
        return OneLine((one,), one.spans, np.zeros_like(numbers), numbers, one.cause, one.grade)
    every = [one.spans for one in verdicts]
    thread = np.repeat(np.arange(len(every)), [len(spans) for spans in every])
    gap = np.concatenate([np.arange(len(spans)) for spans in every])
    start = np.concatenate([spans.start_ns for spans in every])
    end = np.concatenate([spans.end_ns for spans in every])
    order = np.lexsort((-end, start))
    until = np.maximum.accumulate(end[order])
    begun = np.maximum(start[order], np.append(start[order][:1], until[:-1]))
    kept = np.flatnonzero(end[order] > begun)
    order, begun = order[kept], begun[kept]
    spans = replace(
        every[0],
        start_ns=begun,
        end_ns=end[order],
        n_packets=np.concatenate([spans.n_packets for spans in every])[order],
        is_lost=np.concatenate([spans.is_lost for spans in every])[order],
        per_packet_ns=max(spans.per_packet_ns for spans in every),
    )
    cause = np.concatenate([one.cause for one in verdicts])[order]
    grade = np.concatenate([one.grade for one in verdicts])[order]
    return OneLine(tuple(verdicts), spans, thread[order], gap[order], cause, grade)
