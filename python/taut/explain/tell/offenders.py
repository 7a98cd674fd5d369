"""Who made packets late: every stall and every late packet of a trial, grouped by who is blamed.

A stall belongs to the longest visit of its verdict's cause: a thread, an interrupt, a call with its
sender. Thread numbers are left out: the same offender of several trials is then one.
"""

import re
from collections.abc import Iterable, Sequence
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
    rest: Sequence[Rest] = (),
) -> tuple[Offender, ...]:
    """Give the offenders of one trial; `rest` are gaps of which only the length is known."""
    found: list[Offender] = []
    blamed = np.zeros(len(judged.tail), bool)
    cores: dict[str, int] = {}
    for line, relations in ((device, _OF_DEVICE), (generator, _OF_GENERATOR)):
        gaps = np.where(np.isin(judged.blame.relation, relations), judged.blame.gap, -1)
        for thread, verdicts in enumerate(() if line is None else line.verdicts):
            cores[verdicts.spans.thread] = verdicts.spans.core
            if line is not None and len(verdicts.spans):
                gap = line.of_thread(thread, gaps)
                found += _of_gaps(verdicts, judged, gap)
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


def _of_gaps(verdicts: GapVerdicts, judged: JudgedTail, gap: Ints) -> list[Offender]:
    """Give the offenders of one thread's gaps; `gap` is the one each packet is blamed on, or -1."""
    n_details = len(verdicts.segments.details)
    keys, index = np.unique(verdicts.cause * n_details + _detail(verdicts), return_inverse=True)
    late = (gap >= 0) & judged.tail.is_late
    by_packet = index[gap[late]]
    worst = np.zeros(len(keys), np.int64)
    np.maximum.at(worst, by_packet, judged.excess_ns[late])
    taken = np.zeros(len(keys), np.int64)
    np.add.at(taken, index, verdicts.spans.length_ns)
    columns = (
        np.bincount(index, minlength=len(keys)),
        np.bincount(index, weights=verdicts.grade == D, minlength=len(keys)).astype(np.int64),
        taken,
        np.bincount(by_packet, minlength=len(keys)),
        worst,
    )
    return [
        Offender(
            _role(verdicts.spans.thread),
            verdicts.spans.core,
            CAUSES[key // n_details].id,
            who_of(verdicts.segments.details[key % n_details]),
            *numbers,
        )
        for key, *numbers in zip(keys.tolist(), *(c.tolist() for c in columns), strict=True)
    ]


def _detail(verdicts: GapVerdicts) -> Ints:
    """Give for each gap the number of its longest visit's details; 0: it has none."""
    if not len(verdicts.segments.visit_span):
        return np.zeros(len(verdicts.spans), np.int64)
    return np.where(
        verdicts.visit >= 0, verdicts.segments.visit_detail[np.maximum(verdicts.visit, 0)], 0
    )


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
