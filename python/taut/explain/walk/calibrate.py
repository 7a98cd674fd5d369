"""What an interrupt costs outside its handler: entry, exit, cold caches, the exits of a guest.

Learnt from the trial itself: a gap of a polling thread that holds exactly one interrupt lasts as
long as the handler plus this cost.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from taut.core.percentiles import PERCENTILES, percentile_rank
from taut.explain.arrays import Ints, Mask
from taut.explain.read.counts import Counts
from taut.explain.read.spans import Spans, Stretches, covered_ns
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
        lessons.add(spans, segments)
    return lessons.learnt()


class Lessons:
    """What the gaps of a trial teach, a part of each thread's after the other."""

    def __init__(self) -> None:
        self._costs: defaultdict[int, Counts] = defaultdict(Counts)
        self._empty_gaps = self._empty_ns = 0
        self._watched: dict[str, tuple[int, int, Stretches]] = {}

    def add(self, spans: Spans, segments: Segments) -> None:
        """Learn from some gaps of one thread, later than those before."""
        if len(spans):
            first, last = int(spans.start_ns[0]), int(spans.end_ns[-1])
            first = self._watched.get(spans.thread, (first,))[0]
            self._watched[spans.thread] = first, last, spans.skipped
        entry, cost = _single_visits(spans, segments)
        for number in np.unique(entry).tolist():
            self._costs[number].add(cost[entry == number])
        held = np.bincount(segments.visit_span, minlength=len(spans)) > 0
        empty = ~held & _is_whole(spans) & (spans.n_packets == 0)
        self._empty_gaps += int(np.count_nonzero(empty))
        self._empty_ns += int(spans.length_ns[empty].sum())

    def learnt(self) -> Calibration:
        """Give what all of them teach."""
        watched_ns = sum(
            last - first - covered_ns(skipped, first, last)
            for first, last, skipped in self._watched.values()
        )
        costs = _by_class(self._costs)
        return Calibration(costs, self._empty_gaps, self._empty_ns, watched_ns)


def usual_ns(took_ns: Ints) -> int | None:
    """Give the ns up to which a wake-up took what it usually does; None: too few were seen."""
    if len(took_ns) < LEAST_SAMPLES:
        return None
    median, p99 = np.quantile(took_ns, [0.5, 0.99], method="inverted_cdf")
    return EntryCost(len(took_ns), int(median), int(p99)).limit_ns


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


def _by_class(costs: Mapping[int, Counts]) -> dict[str, EntryCost]:
    pooled, found = Counts(), {}
    for number, name in enumerate(ENTRY_CLASSES):
        own = costs.get(number, Counts())
        found[name] = _cost(own)
        if name in _INTERRUPTS:
            pooled.add_all(own)
    found["any interrupt"] = _cost(pooled)
    return {name: cost for name, cost in found.items() if cost is not None}


def _cost(of: Counts) -> EntryCost | None:
    n = len(of)
    if n < LEAST_SAMPLES:
        return None
    median, p99 = (of.at(percentile_rank(n, PERCENTILES[name])) for name in ("p50", "p99"))
    return EntryCost(n, median, p99)
