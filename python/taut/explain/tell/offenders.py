"""Who made packets late: every stall and every late packet of a trial, grouped by who is blamed.

A stall belongs to the longest visit of its verdict's cause: a thread, an interrupt, a call with its
sender. Thread numbers are left out: the same offender of several trials is then one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints, Mask
from taut.explain.causes import CAUSES
from taut.explain.judge.blame import Relation
from taut.explain.judge.one_line import OneLine
from taut.explain.judge.verdicts import D, GapVerdicts
from taut.explain.read.gaps import Rest
from taut.explain.tell.episodes import JudgedTail
from taut.explain.tell.gap_table import MEASURER
from taut.records.documents.explanation import Offender
from taut.records.documents.trial import HOP

DEVICE_CORE, GENERATOR_CORE, NO_CORE = "device", "generator", "none"
"""Whose core the offender had, of a chain the hop's name; none: packets waited, or nothing says
where."""

_THREAD_NUMBER = re.compile(r'("[^"]*")/\d+')
_PASSING = re.compile(r"(\d+|all) pages?\b ?|at 0x[0-9a-f]+|number \d+|, \d+ packets of others")

# How packets are tied to a cause, by whose gaps they are blamed on.
_OF_DEVICE = (Relation.STALLED, Relation.QUEUED_BEHIND)
_OF_GENERATOR = (Relation.MEASURER, Relation.HELD_BACK)


_Key = tuple[str, int | None, str, str]


def offenders_of(
    judged: JudgedTail,
    device: OneLine | None,
    generator: OneLine | None,
    rest: Sequence[Rest],
    stalls: Mapping[str, "StallSums"],
) -> tuple[Offender, ...]:
    """Give the offenders of one trial; `rest` are gaps of which only the length is known.

    `stalls` are, by thread, the sums over all of its gaps, where more were judged than are kept.
    """
    found: list[Offender] = []
    blamed = np.zeros(len(judged.tail), bool)
    cores: dict[str, int] = {}
    for line, relations in ((device, _OF_DEVICE), (generator, _OF_GENERATOR)):
        gaps = np.where(np.isin(judged.blame.relation, relations), judged.blame.gap, -1)
        for thread, verdicts in enumerate(() if line is None else line.verdicts):
            cores[verdicts.spans.thread] = verdicts.spans.core
            sums = stalls.get(verdicts.spans.thread)
            if sums is None:
                sums = StallSums()
                sums.add(verdicts)
            gap = np.full(len(gaps), -1) if line is None else line.of_thread(thread, gaps)
            found += _of_gaps(verdicts, sums, judged, gap)
            blamed |= gap >= 0
    found += _without_gap(judged, ~blamed)
    found += [_unknown(more, cores.get(more.thread)) for more in rest if more.n]
    return together(found)


def _unknown(more: Rest, core: int | None) -> Offender:
    """Make an offender of stalls of which only the length is known."""
    return Offender(_role(more.thread), core, causes.UNKNOWN.id, "", more.n, 0, more.total_ns, 0, 0)


def together(found: Iterable[Offender]) -> tuple[Offender, ...]:
    """Add up equal offenders of any number of trials; most packets, then most time first."""
    sums: dict[_Key, Offender] = {}
    for one in found:
        key = one.role, one.core, one.cause, one.who
        known = sums.get(key)
        sums[key] = one if known is None else _added(known, one)
    return tuple(sorted(sums.values(), key=lambda one: (-one.n_packets, -one.taken_ns)))


def _added(a: Offender, b: Offender) -> Offender:
    return replace(
        a,
        n_stalls=a.n_stalls + b.n_stalls,
        n_guesses=a.n_guesses + b.n_guesses,
        taken_ns=a.taken_ns + b.taken_ns,
        n_packets=a.n_packets + b.n_packets,
        worst_ns=max(a.worst_ns, b.worst_ns),
    )


def _role(thread: str) -> str:
    if thread.startswith(HOP):
        return thread
    return GENERATOR_CORE if thread == MEASURER else DEVICE_CORE


class StallSums:
    """Number and time of one thread's stalls by whom they are blamed on."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str], tuple[int, int, int]] = {}

    def add(self, verdicts: GapVerdicts) -> None:
        """Count some gaps of the thread."""
        keys, index = _keys(verdicts)
        taken = np.zeros(len(keys), np.int64)
        np.add.at(taken, index, verdicts.spans.length_ns)
        n = np.bincount(index, minlength=len(keys))
        guesses = np.bincount(index[verdicts.grade == D], minlength=len(keys))
        rows = zip(n.tolist(), guesses.tolist(), taken.tolist(), strict=True)
        for key, (more, more_guesses, more_ns) in zip(keys, rows, strict=True):
            of, of_guesses, of_ns = self._sums.get(key, (0, 0, 0))
            self._sums[key] = of + more, of_guesses + more_guesses, of_ns + more_ns

    def items(self) -> Iterable[tuple[tuple[int, str], tuple[int, int, int]]]:
        """Give by cause and who: number of stalls, guesses among them, ns taken."""
        return self._sums.items()


def _keys(verdicts: GapVerdicts) -> tuple[list[tuple[int, str]], Ints]:
    """Give causes with who it was, and for each gap the position of its own among them."""
    n = len(verdicts.segments.details)
    both, of_gap = np.unique(verdicts.cause * n + verdicts.detail, return_inverse=True)
    number: dict[tuple[int, str], int] = {}
    at: list[int] = []
    for one in both.tolist():
        key = one // n, who_of(verdicts.segments.details[one % n])
        at.append(number.setdefault(key, len(number)))
    return list(number), np.array(at, np.int64)[of_gap]


def _of_gaps(
    verdicts: GapVerdicts, sums: StallSums, judged: JudgedTail, gap: Ints
) -> list[Offender]:
    """Give the offenders of one thread's gaps; `gap` is the one each packet is blamed on, or -1."""
    keys, index = _keys(verdicts)
    late = (gap >= 0) & judged.tail.is_late
    by_packet = index[gap[late]]
    worst = np.zeros(len(keys), np.int64)
    np.maximum.at(worst, by_packet, judged.excess_ns[late])
    n_packets = np.bincount(by_packet, minlength=len(keys)).tolist()
    hit = dict(zip(keys, zip(n_packets, worst.tolist(), strict=True), strict=True))
    return [
        Offender(
            _role(verdicts.spans.thread),
            verdicts.spans.core,
            CAUSES[cause].id,
            who,
            *stalls,
            *hit.get((cause, who), (0, 0)),
        )
        for (cause, who), stalls in sums.items()
    ]


def who_of(detail: str) -> str:
    """Leave out of a visit's details what differs between visits of the same offender."""
    return _PASSING.sub("", _THREAD_NUMBER.sub(r"\1", detail)).strip()


def _without_gap(judged: JudgedTail, mine: Mask) -> list[Offender]:
    """Give what made packets late without any gap: queues, batches, what nobody knows."""
    late = mine & judged.tail.is_late
    found = []
    for number in np.unique(judged.cause[late]).tolist():
        own = late & (judged.cause == number)
        n_guesses = int(np.count_nonzero(judged.grade[own] == D))
        worst_ns, n = int(judged.excess_ns[own].max()), int(np.count_nonzero(own))
        cause = CAUSES[number].id
        found.append(Offender(NO_CORE, None, cause, "", 0, n_guesses, 0, n, worst_ns))
    return found
