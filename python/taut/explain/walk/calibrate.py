"""What an interrupt costs outside its handler: entry, exit, cold caches, the exits of a guest.

Learnt from the trial itself: a gap of a polling thread that holds exactly one interrupt lasts as
long as the handler plus this cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from taut.explain.arrays import Ints, Mask, Numbers
from taut.explain.read.spans import Spans, covered_ns
from taut.explain.walk.segments import CLASS_NUMBER, ENTRY_CLASSES, Segments

LEAST_SAMPLES = 20
"""From fewer gaps than this no cost is learnt."""

_WIDEST = 4
"""The limit is at most so many medians: one gap in a hundred with a stolen vCPU would spoil p99."""
_SLACK_NS = 1_000


@dataclass(frozen=True)
class EntryCost:
    """Cost of one class of interrupts outside their handlers."""

    n: int
    median_ns: int
    p99_ns: int

    @property
    def limit_ns(self) -> int:
        """The longest cost in ns that the model takes for possible; the rest has another cause."""
        return min(self.p99_ns, _WIDEST * self.median_ns + _SLACK_NS)


@dataclass(frozen=True)
class Calibration:
    """The cost of interrupts on a host, and how often its threads stop without any event."""

    costs: Mapping[str, EntryCost] = field(default_factory=dict)
    empty_gaps: int = 0
    empty_ns: int = 0
    watched_ns: int = 0

    def medians(self) -> Ints:
        """The median cost of each entry class, 0 where nothing was learnt."""
        return self._by_class("median_ns")

    def limits(self) -> Ints:
        """The largest cost that the model believes, by entry class."""
        return self._by_class("limit_ns")

    def _by_class(self, name: str) -> Ints:
        pooled = self.costs.get("any interrupt")
        values = np.zeros(len(ENTRY_CLASSES), np.int64)
        for number, entry in enumerate(ENTRY_CLASSES):
            cost = self.costs.get(entry)
            if cost is None and entry in _INTERRUPTS:
                cost = pooled
            values[number] = getattr(cost, name) if cost is not None else 0
        return values


_INTERRUPTS = frozenset(ENTRY_CLASSES) - {"none", "switch", "page_fault", "syscall"}


def calibrate(threads: Sequence[tuple[Spans, Segments]]) -> Calibration:
    """Learn from the gaps of all threads of a trial."""
    lessons = Lessons()
    for spans, segments in threads:
        lessons.watch(spans)
        lessons.add(spans, segments)
    return lessons.learnt()


class Lessons:
    """What the gaps of a trial teach, a part of them at a time."""

    def __init__(self) -> None:
        self._classes: list[Numbers] = [np.empty(0, np.uint8)]
        self._costs: list[Ints] = [np.empty(0, np.int64)]
        self._empty_gaps = self._empty_ns = self._watched_ns = 0

    def watch(self, spans: Spans) -> None:
        """Count the time in which one thread was watched; of all of its gaps."""
        if len(spans):
            bounds = int(spans.start_ns[0]), int(spans.end_ns[-1])
            self._watched_ns += bounds[1] - bounds[0] - covered_ns(spans.skipped, *bounds)

    def add(self, spans: Spans, segments: Segments) -> None:
        """Learn from some gaps of one thread."""
        entry, cost = _single_visits(spans, segments)
        self._classes.append(entry.astype(np.uint8))
        self._costs.append(cost)
        held = np.bincount(segments.visit_span, minlength=len(spans)) > 0
        empty = ~held & _is_whole(spans) & (spans.n_packets == 0)
        self._empty_gaps += int(np.count_nonzero(empty))
        self._empty_ns += int(spans.length_ns[empty].sum())

    def learnt(self) -> Calibration:
        """Give what all of them teach."""
        found = _by_class(np.concatenate(self._classes), np.concatenate(self._costs))
        return Calibration(found, self._empty_gaps, self._empty_ns, self._watched_ns)


def _is_whole(spans: Spans) -> Mask:
    """Mark the gaps of which every event was recorded and kept."""
    return ~spans.is_lost & ~spans.is_unseen


def _single_visits(spans: Spans, segments: Segments) -> tuple[Ints, Ints]:
    """Entry class and cost of each gap that holds one visit with a cost."""
    n = len(spans)
    bearing = segments.visit_class != CLASS_NUMBER["none"]
    n_bearing = np.bincount(segments.visit_span[bearing], minlength=n)
    entry = np.zeros(n, np.int64)
    entry[segments.visit_span[bearing]] = segments.visit_class[bearing]
    net = np.zeros(n, np.int64)
    np.add.at(net, segments.span, segments.length_ns)
    fit = (n_bearing == 1) & (spans.n_packets == 0) & _is_whole(spans)
    return entry[fit], (spans.length_ns - net)[fit]


def _by_class(entry: Numbers, cost: Ints) -> dict[str, EntryCost]:
    found = {}
    for number, name in enumerate(ENTRY_CLASSES):
        measured = _cost(cost[entry == number])
        if measured is not None:
            found[name] = measured
    interrupts = [CLASS_NUMBER[name] for name in _INTERRUPTS]
    pooled = _cost(cost[np.isin(entry, interrupts)])
    if pooled is not None:
        found["any interrupt"] = pooled
    return found


def _cost(values: Ints) -> EntryCost | None:
    if len(values) < LEAST_SAMPLES:
        return None
    median, p99 = np.quantile(values, [0.5, 0.99], method="inverted_cdf")
    return EntryCost(len(values), int(median), int(p99))
