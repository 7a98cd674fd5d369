"""What explain made of acts on a trial: whether they made packets late, and their verdicts.

An act is felt where it made a packet late: by a quarter of its length or more, with half of its
excess inside the act. Most of these packets have one verdict; it is right, or the timeline has the
act in the same gap and something larger beside it, or the act is missed. An act on the generator is
felt where its log has the gap, too: nothing is sent meanwhile, and packets that were due then must
not count.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.explain import causes
from taut.explain.arrays import Ints, Mask
from taut.explain.cause import Cause
from taut.explain.causes import BY_ID, CAUSES, NUMBER
from taut.explain.judge.one_line import on_one_line
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.read.spans import Spans
from taut.explain.tell.gap_table import MEASURER
from taut.explain.tell.result import Explanation
from taut.records.layout import PacketFlag
from taut.self_test.acts import AFTER_NS, SLACK_NS, Acts, held_of
from taut.self_test.confusion import Confusion

_PART = 4
"""An act that took the core and made no packet late by 1 / _PART of its length was not felt."""
_EDGE_NS = 100_000
"""A packet that was due right where a gap begins or ends may have been sent in time."""
_MEASURER = NUMBER[causes.MEASURER]
_ON_PURPOSE = (NUMBER[causes.STOPPED], NUMBER[causes.THROTTLED])
"""Only an injector does this to taut's programs, so nobody else needs to be named."""


@dataclass(frozen=True)
class Late:
    """Packets of the tail that came back; one value for each."""

    sent_ns: Ints
    received_ns: Ints
    cause: Ints
    gap: Ints  # of the thread it was blamed on: the generator where it is the measurer
    is_void: Mask

    def __len__(self) -> int:
        return len(self.sent_ns)


@dataclass(frozen=True)
class Control:
    """The tail of a trial without acts: which verdicts are false."""

    n_tail: int
    n_said: int  # packets that have a verdict which acts have
    false: dict[str, int]  # of these, by verdict, those that neither kernel nor a log supports

    @property
    def false_share(self) -> float:
        """The share of the tail that was falsely blamed on an act, from 0 to 1."""
        return sum(self.false.values()) / self.n_tail if self.n_tail else 0.0


def late_of(found: Explanation) -> Late:
    """Take the late packets out of an explanation."""
    table = found.packets
    if table is None:
        none = np.empty(0, np.int64)
        return Late(none, none, none, none, none.astype(bool))
    table = table.filter(pc.is_valid(table["received_ns"]))
    return Late(
        table["sent_ns"].to_numpy(),
        table["received_ns"].to_numpy(),
        np.array([NUMBER[BY_ID[name]] for name in table["cause"].to_pylist()], np.int64),
        table["gap"].fill_null(-1).to_numpy(),
        table["is_void"].to_numpy(zero_copy_only=False),
    )


def meets(sent: Ints, received: Ints, start: Ints, end: Ints) -> Mask:
    """Mark packets that were on their way in any of these times, which are in order."""
    if not len(start):
        return np.zeros(len(sent), bool)
    last_end = np.maximum.accumulate(end)
    at = np.searchsorted(last_end, sent, "left")
    met: Mask = (at < len(start)) & (start[np.minimum(at, len(start) - 1)] <= received)
    return met


@dataclass(frozen=True)
class Due:
    """When packets were due, in order, and how many of them count up to each."""

    due_ns: Ints
    n_valid: Ints

    def is_void(self, start_ns: Ints, end_ns: Ints) -> Mask:
        """Mark the times in which no packet was due that counts."""
        low = np.searchsorted(self.due_ns, start_ns + _EDGE_NS)
        high = np.maximum(np.searchsorted(self.due_ns, end_ns - _EDGE_NS), low)
        void: Mask = self.n_valid[high] == self.n_valid[low]
        return void


def due_of(packets: pa.Table) -> Due:
    """Take the times from a table of packets with columns due_ns and flags.

    Records lie in the order in which packets came back or were given up; orphans were never due.
    """
    due = packets.filter(pc.is_valid(packets["due_ns"])).sort_by("due_ns")
    counts = due["flags"].to_numpy() & PacketFlag.VOID == 0
    return Due(due["due_ns"].to_numpy(), np.concatenate([[0], np.cumsum(counts)]))


@dataclass(frozen=True)
class Wanted:
    """The right verdicts for one kind of act."""

    name: str
    cause: Cause  # what the timeline of the thread that is disturbed calls it
    verdicts: Sequence[Cause]  # of packets that it made late
    least_ns: int  # of its share of a gap


def confuse_packets(wanted: Wanted, acts: Acts, found: Explanation, due: Due) -> Confusion:
    """Hold the verdicts of late packets to acts of one kind."""
    late = late_of(found)
    right = [NUMBER[verdict] for verdict in wanted.verdicts]
    evidence = _evidence(found, (wanted.cause, *wanted.verdicts), acts)
    n_unfelt, n_right = 0, 0
    beside: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for start, end in zip(acts.start_ns.tolist(), acts.end_ns.tolist(), strict=True):
        made = _made_late(late, start, end, (found.p50_ns or 0))
        gaps = [(thread, gap) for thread in evidence for gap in thread.gaps_at(start, end)]
        if made.any():
            said = int(np.bincount(late.cause[made]).argmax())
        elif right == [_MEASURER] and _is_logged(gaps, (end - start) // _PART):
            said = _MEASURER
        else:
            n_unfelt += 1
            continue
        is_seen = any(thread.own_ns[gap] >= wanted.least_ns for thread, gap in gaps)
        if said == _MEASURER == right[0] and not _are_void(gaps, due):
            said = NUMBER[causes.UNKNOWN]
        if is_seen and said in right:
            n_right += 1
        elif is_seen:
            beside[CAUSES[said].id] += 1
        else:
            missed[f"its packets are {CAUSES[said].id}, and no gap holds the act"] += 1
    ours = Confusion(
        cause=wanted.name,
        n_acts=len(acts),
        n_unfelt=n_unfelt,
        n_right=n_right,
        beside=dict(beside.most_common()),
        why_missed=dict(missed.most_common()),
        misses=(),
        n_said=0,
        n_at_act=0,
        n_injectors=0,
        n_others=0,
        n_unexplained=0,
    )
    return _with_verdicts(ours, right, acts, found, late)


def _made_late(late: Late, start: int, end: int, p50_ns: int) -> Mask:
    """Mark the packets that an act can have made late."""
    excess = late.received_ns - late.sent_ns - p50_ns
    shared = np.minimum(late.received_ns, end + AFTER_NS) - np.maximum(late.sent_ns, start)
    made: Mask = (2 * shared >= excess) & (_PART * excess >= end - start)
    return made


@dataclass(frozen=True)
class _Evidence:
    """One cause in the gaps of one thread."""

    spans: Spans
    own_ns: Ints
    is_found: Mask

    def gaps_at(self, start: int, end: int) -> list[int]:
        """Gaps at a time that hold it, and not of another's making alone."""
        first = int(np.searchsorted(self.spans.end_ns, start - SLACK_NS, "right"))
        last = int(np.searchsorted(self.spans.start_ns, end + AFTER_NS, "left"))
        return [gap for gap in range(first, last) if self.is_found[gap]]


_Gaps = Sequence[tuple[_Evidence, int]]


def _evidence(found: Explanation, wanted: Sequence[Cause], acts: Acts) -> list[_Evidence]:
    injectors = frozenset(acts.thread.tolist())
    evidence = []
    for verdicts in found.source.verdicts:
        for cause in dict.fromkeys(wanted):
            held = held_of(verdicts, cause, injectors)
            is_found = (held.is_ours | held.is_unsaid) & ~verdicts.spans.is_lost
            evidence.append(_Evidence(verdicts.spans, held.own_ns, is_found))
    return evidence


def _of_generator(gaps: _Gaps) -> list[tuple[int, int]]:
    spans = [(thread.spans, gap) for thread, gap in gaps if thread.spans.thread == MEASURER]
    return [(int(own.start_ns[gap]), int(own.end_ns[gap])) for own, gap in spans]


def _is_logged(gaps: _Gaps, least_ns: int) -> bool:
    """Whether the generator's own log has a gap that holds the act."""
    return any(end - start >= least_ns for start, end in _of_generator(gaps))


def _are_void(gaps: _Gaps, due: Due) -> bool:
    return all(
        due.is_void(np.array([start]), np.array([end]))[0] for start, end in _of_generator(gaps)
    )


def _with_verdicts(
    ours: Confusion, wanted: Sequence[int], acts: Acts, found: Explanation, late: Late
) -> Confusion:
    """Ask of every late packet with the verdict, while such acts went on, where it came from."""
    if not len(acts):
        return ours
    first_ns, last_ns = int(acts.start_ns[0]), int(acts.end_ns.max())
    during = (late.received_ns >= first_ns) & (late.sent_ns <= last_ns + AFTER_NS)
    said = during & np.isin(late.cause, wanted)
    makers = _makers(found, late, acts)
    injectors, others = makers.is_ours & ~makers.is_at_act, makers.is_others & ~makers.is_at_act
    others &= ~injectors
    return replace(
        ours,
        n_said=int(said.sum()),
        n_at_act=int((said & makers.is_at_act).sum()),
        n_injectors=int((said & injectors).sum()),
        n_others=int((said & others).sum()),
        n_unexplained=int((said & ~makers.is_at_act & ~injectors & ~others).sum()),
        seconds=(last_ns - first_ns) / 1e9,
    )


def control_of(found: Explanation, verdicts: Collection[Cause]) -> Control:
    """Look for verdicts of acts where none was made."""
    late = late_of(found)
    said = np.isin(late.cause, [NUMBER[verdict] for verdict in verdicts])
    none = np.empty(0, np.int64)
    false = said & ~_makers(found, late, Acts(none, none, none)).is_others
    counts = Counter(CAUSES[cause].id for cause in late.cause[false].tolist())
    return Control(len(late), int(said.sum()), dict(counts.most_common()))


@dataclass(frozen=True)
class _Makers:
    """What is known of who made each packet late; one value for each."""

    is_at_act: Mask  # it, or the gap that it is blamed on, meets an act
    is_ours: Mask  # the kernel names the injector
    is_others: Mask  # it names somebody else, or the generator's log has the gap


def _makers(found: Explanation, late: Late, acts: Acts) -> _Makers:
    start, end = acts.start_ns - SLACK_NS, acts.end_ns + AFTER_NS
    injectors = frozenset(acts.thread.tolist())
    at_act = meets(late.sent_ns, late.received_ns, start, end)
    ours, others = np.zeros(len(late), bool), np.zeros(len(late), bool)
    for verdicts, gap_of_late in _blamed(found, late):
        of_thread = gap_of_late >= 0
        met = meets(verdicts.spans.start_ns, verdicts.spans.end_ns, start, end)
        at_act[of_thread] |= met[gap_of_late[of_thread]]
        for cause in np.unique(late.cause[of_thread]).tolist():
            rows = np.flatnonzero(of_thread & (late.cause == cause))
            gap = gap_of_late[rows]
            if verdicts.spans.thread == MEASURER:
                others[rows] = ~np.isin(verdicts.cause[gap], _ON_PURPOSE)
            elif cause not in _ON_PURPOSE:
                held = held_of(verdicts, CAUSES[cause], injectors)
                ours[rows], others[rows] = held.is_ours[gap], held.is_others[gap]
    # The generator's own log shows what it sent or received late.
    others |= (late.cause == _MEASURER) & (late.gap < 0) & late.is_void
    return _Makers(at_act, ours, others)


def _blamed(found: Explanation, late: Late) -> Iterator[tuple[GapVerdicts, Ints]]:
    """Give each thread's gaps with the one of them that each packet is blamed on; -1: none is.

    A packet is blamed on a gap of the generator or on one of the line that the device's gaps make.
    """
    of_generator = late.cause == _MEASURER
    for is_measurer in (True, False):
        own = [v for v in found.source.verdicts if (v.spans.thread == MEASURER) == is_measurer]
        if (line := on_one_line(own)) is not None:
            gap = np.where(of_generator == is_measurer, late.gap, -1)
            yield from ((one, line.of_thread(i, gap)) for i, one in enumerate(own))
