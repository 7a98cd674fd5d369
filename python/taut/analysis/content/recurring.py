"""Values of a counter that come back: each is a class, and each counts as a test.

A 16-bit identifier over 300,000 packets shows each value four or five times. Are the packets with
one of them slow every time? The evidence is their rank among the packets around them (ranks.py);
what else it might be is period.py's matter. Counters that come round within the longest period of
a timer looked for (control.py: 50 ms, less in short and in fast captures), or within 256 packets,
are left out: nobody could tell their values from a tick.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from taut.analysis.content.candidates import ALLOWED_ERROR, not_told_of_first
from taut.analysis.content.effect import Description, also_called, describe
from taut.analysis.content.fields import Column
from taut.analysis.content.heads import Ints, MatchedFrames
from taut.analysis.content.layers import Mask
from taut.analysis.content.period import judge_captures, own_period, work_of_timer
from taut.analysis.content.ranks import MOST_REACH, Ranks, log_gamma_tail
from taut.analysis.content.tails import Tail, TimeBlocks, Witnesses
from taut.records.documents.content import ContentClass, SearchedCounter

_LEAST_PERIOD = 256
_LOG_P_SCREEN = -11.0
_BEST_OF_COUNTER = 32
_SAME = 0.9  # Jaccard's index of two names for the same packets
_ROOM_FOR_LOSSES = 16  # a part of the period


@dataclass(frozen=True)
class Recurring:
    """The packets of a counter by value: those of value i are `at[starts[i]:starts[i + 1]]`."""

    column: Column
    at: Ints
    starts: Ints
    n_values: int
    """Values held by at least two packets."""
    period: int | None
    """Packets from one to the next of the same value; None: none comes back within a capture."""

    @property
    def reach(self) -> int:
        """How far the neighbours of a packet go: not to those of the next of its value.

        Packets that were lost bring the two nearer to each other.
        """
        period = self.period or 4 * MOST_REACH
        return min(MOST_REACH, (period - period // _ROOM_FOR_LOSSES) // 2)

    def members(self, value: int) -> Ints:
        """Packets of a value, in ingress order."""
        return self.at[self.starts[value] : self.starts[value + 1]]

    def document(self) -> SearchedCounter:
        return SearchedCounter(self.column.name, self.n_values, self.period)


@dataclass(frozen=True)
class _Value:
    """A value that stands out, and the log of its corrected p-value."""

    order: int
    recurring: Recurring
    value: int
    members: Ints
    ranks: Ranks
    log_p: float

    @property
    def shown(self) -> str:
        column = self.recurring.column
        return column.show(int(column.values[self.members[0]]))

    @property
    def name(self) -> str:
        return f"{self.recurring.column.name} = {self.shown}"

    def is_same(self, other: "_Value") -> bool:
        n_both = len(np.intersect1d(self.members, other.members, assume_unique=True))
        return n_both > _SAME * (len(self.members) + len(other.members) - n_both)


def find_recurring(frames: MatchedFrames, column: Column, span: int) -> Recurring | None:
    """Sort a counter's packets by value; None where its values do not come back, or too soon."""
    at = np.arange(len(column.values)) if column.valid is None else np.flatnonzero(column.valid)
    at = at[np.argsort(column.values[at], kind="stable")]
    is_again = column.values[at[1:]] == column.values[at[:-1]]
    starts = np.concatenate([[0], np.flatnonzero(~is_again) + 1, [len(at)]])
    n_values = int(np.count_nonzero(np.diff(starts) >= 2))
    if not n_values:
        return None
    capture = np.searchsorted(frames.starts, at, "right")
    within = is_again & (capture[1:] == capture[:-1])
    apart = (frames.position[at[1:]] - frames.position[at[:-1]])[within]
    period = int(np.median(apart)) if len(apart) else None
    if period is not None and period <= max(span, _LEAST_PERIOD):
        return None
    return Recurring(column, at, starts, n_values, period)


class CounterSearch:
    """Searches the values of all counters of a capture, or of several together."""

    def __init__(
        self,
        frames: MatchedFrames,
        blocks: TimeBlocks,
        tails: Sequence[Tail],
        counters: Sequence[Column],
        span: int,
    ) -> None:
        found = (find_recurring(frames, column, span) for column in counters)
        self.recurring = [recurring for recurring in found if recurring]
        self._frames, self._blocks, self._span = frames, blocks, span
        self._tails = {tail.direction: tail for tail in tails}
        captures = frames.captures
        self._ranks = [
            Ranks(frames.latency_ns, blocks, captures, direction)
            for direction in (self._tails if self.recurring else ())
        ]
        whole = slice(0, len(frames.position))
        self._selections = [whole, *captures] if len(captures) > 1 else [whole]
        self.rejected: dict[str, str] = {}
        """Values that stand out and are not the reason, and why; one a field and reason."""

    @property
    def n_tests(self) -> int:
        """Values x slow or fast x all captures together or each alone."""
        n_values = sum(recurring.n_values for recurring in self.recurring)
        return n_values * len(self._ranks) * len(self._selections)

    def classes(self, alive: Mask, log_correction: float) -> Iterator[ContentClass]:
        """Give the values that stand out, the most certain first; what they explain dies."""
        values = [
            value
            for ranks in self._ranks
            for order, recurring in enumerate(self.recurring)
            for value in self._judge(order, recurring, ranks, alive, log_correction)
            if value.log_p < np.log(ALLOWED_ERROR)
        ]
        values.sort(key=lambda value: value.log_p)
        while values:
            same = [value for value in values if value.is_same(values[0])]
            values = [value for value in values if not value.is_same(values[0])]
            found = self._confirm(min(same, key=lambda value: value.order), same, alive)
            if found:
                yield found

    def _judge(
        self, order: int, recurring: Recurring, ranks: Ranks, alive: Mask, log_correction: float
    ) -> Iterator[_Value]:
        """Screen all values cheaply, and measure the best of them."""
        best: dict[int, float] = {}
        for selection in self._selections:
            counts = alive[recurring.at]
            counts &= (recurring.at >= selection.start) & (recurring.at < selection.stop)
            strength = np.where(counts, ranks.rough[recurring.at], 0.0)
            starts = recurring.starts[:-1]
            m = np.add.reduceat(counts.astype(np.int64), starts)
            rough = log_gamma_tail(np.add.reduceat(strength, starts), np.where(m >= 2, m, 0))
            for value in np.argsort(rough, kind="stable")[:_BEST_OF_COUNTER].tolist():
                if rough[value] < _LOG_P_SCREEN:
                    members = recurring.members(value)
                    members = members[alive[members]]
                    inside = (members >= selection.start) & (members < selection.stop)
                    log_p = ranks.log_p(members[inside], recurring.reach)
                    best[value] = min(best.get(value, 0.0), log_p)
        for value, log_p in best.items():
            members = recurring.members(value)
            members = members[alive[members]]
            yield _Value(order, recurring, value, members, ranks, min(log_p + log_correction, 0.0))

    def _confirm(self, chosen: _Value, same: Sequence[_Value], alive: Mask) -> ContentClass | None:
        frames, members, ranks = self._frames, chosen.members, chosen.ranks
        period = own_period(frames, members, chosen.recurring.period)
        verdict = judge_captures(frames, ranks, members, period, chosen.recurring.reach)
        reason = verdict.rejection or work_of_timer(frames, ranks, members, period, self._span)
        is_member = np.zeros(len(alive), bool)
        is_member[members] = True
        reason = reason or not_told_of_first(frames.captures[0], is_member, alive)
        if reason:
            self._reject(chosen, reason)
            return None
        tail = self._tails[ranks.direction]
        evidence = Witnesses(self._blocks, (tail,), alive).judge(members)
        found = describe(
            frames,
            self._blocks,
            is_member,
            alive,
            tail,
            evidence.depth,
            Description(
                field=chosen.recurring.column.name,
                value=chosen.shown,
                p_corrected=float(np.exp(chosen.log_p)),
                also=also_called(chosen.name, (value.name for value in same)),
                alternative=verdict.alternative,
            ),
        )
        alive &= ~is_member
        return found

    def _reject(self, value: _Value, reason: str) -> None:
        field = value.recurring.column.name
        is_told = any(
            name.startswith(f"{field} = ") and other == reason
            for name, other in self.rejected.items()
        )
        if not is_told:
            self.rejected[value.name] = reason
