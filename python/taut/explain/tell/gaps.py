"""Gaps with their verdicts: as sums, and one by one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints, at_or
from taut.explain.causes import CAUSES, NUMBER
from taut.explain.grades import count_guesses
from taut.explain.judge.one_line import OneLine
from taut.explain.judge.verdicts import LETTERS, D, GapVerdicts, missing_words
from taut.explain.read.gaps import Rest
from taut.explain.read.names import Names
from taut.explain.tell.result import GapStory, GapTotal, Share

ENTRY_AND_EXIT, OWN_PACKETS, RESIDUAL = "entry and exit", "own packets", "residual"

_MOST_WHO = 2
_MOST_THREADS = 3


def gap_totals(verdicts: Sequence[GapVerdicts], names: Names) -> tuple[GapTotal, ...]:
    """Count and sum the gaps of each thread by cause, the most time first."""
    sums = GapSums()
    for one in verdicts:
        sums.add(one)
    return sums.totals(names)


@dataclass
class _Sum:
    n: int = 0
    total_ns: int = 0
    worst_ns: int = 0
    n_doubtful: int = 0
    by: Counter[int] = field(default_factory=Counter)


class GapSums:
    """Number and time of gaps by thread and cause; nothing of single gaps is kept."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int], _Sum] = {}

    def add(self, verdicts: GapVerdicts) -> None:
        """Count some gaps of one thread."""
        length = verdicts.spans.length_ns
        for number in np.unique(verdicts.cause).tolist():
            is_own = verdicts.cause == number
            own = length[is_own]
            found = self._sums.setdefault((verdicts.spans.thread, number), _Sum())
            found.n += len(own)
            found.total_ns += int(own.sum())
            found.worst_ns = max(found.worst_ns, int(own.max()))
            found.n_doubtful += int(np.count_nonzero(verdicts.grade[is_own] == D))
            found.by.update(_taken_by(verdicts, number))

    def totals(self, names: Names) -> tuple[GapTotal, ...]:
        """Give the sums of each thread, the most time first."""
        found = []
        for (thread, number), of in sorted(
            self._sums.items(), key=lambda one: (one[0][0], -one[1].total_ns, one[0][1])
        ):
            taken = sorted(of.by.items(), key=lambda one: (-one[1], one[0]))[:_MOST_THREADS]
            cause = CAUSES[number].id
            found.append(
                GapTotal(
                    thread,
                    cause,
                    of.n,
                    of.total_ns,
                    of.worst_ns,
                    {names.thread(by): ns for by, ns in taken},
                    count_guesses(cause, {"D": of.n_doubtful}),
                )
            )
        return tuple(found)


def with_rest(totals: Sequence[GapTotal], rest: Sequence[Rest]) -> tuple[GapTotal, ...]:
    """Add the gaps of which only the length is known."""
    found = {(total.thread, total.cause): total for total in totals}
    for more in rest:
        key = more.thread, causes.UNKNOWN.id
        known = found.get(key) or GapTotal(*key, 0, 0, 0, {})
        found[key] = replace(
            known,
            n=known.n + more.n,
            total_ns=known.total_ns + more.total_ns,
            worst_ns=max(known.worst_ns, more.worst_ns),
        )
    return tuple(sorted(found.values(), key=lambda total: (total.thread, -total.total_ns)))


def _taken_by(verdicts: GapVerdicts, cause: int) -> dict[int, int]:
    """Give by thread how long it, or what it sent, had the core in a cause's gaps, in ns."""
    segments = verdicts.segments
    if not len(segments.span):
        return {}
    by = segments.visit_by[segments.visit]
    # What another cause had of such a gap is not this one's.
    own = (verdicts.cause[segments.span] == cause) & (segments.cause == cause) & (by >= 0)
    threads, index = np.unique(by[own], return_inverse=True)
    total = np.zeros(len(threads), np.int64)
    np.add.at(total, index, segments.length_ns[own])
    return dict(zip(threads.tolist(), total.tolist(), strict=True))


def tell_gap(verdicts: GapVerdicts, gap: int) -> GapStory:
    """Describe one gap: its verdict, and where all of its time went."""
    # By its row alone: of an overloaded device there are as many gaps as packets.
    [detail] = at_or(verdicts.segments.visit_detail, verdicts.visit[gap : gap + 1], 0)
    return GapStory(
        thread=verdicts.spans.thread,
        core=verdicts.spans.core,
        start_ns=int(verdicts.spans.start_ns[gap]),
        end_ns=int(verdicts.spans.end_ns[gap]),
        cause=CAUSES[int(verdicts.cause[gap])].id,
        grade=LETTERS[int(verdicts.grade[gap])],
        detail=verdicts.segments.details[int(detail)],
        shares=shares_of(verdicts, gap),
        missing=tuple(missing_words(verdicts, gap)),
    )


def shares_of(verdicts: GapVerdicts, gap: int) -> tuple[Share, ...]:
    """Say where a gap's time went, most first, the residual last; together they are its length."""
    shares = verdicts.shares
    rows = shares.rows_of(gap)
    found = [
        Share(
            CAUSES[int(shares.cause[row])].id,
            int(shares.net_ns[row]),
            _who(verdicts, gap, int(shares.cause[row])),
        )
        for row in rows
    ]
    model = sum(int(shares.model_ns[row]) for row in rows)
    if model:
        found.append(Share(ENTRY_AND_EXIT, model, "by the model of this host"))
    if shares.work_ns[gap]:
        found.append(Share(OWN_PACKETS, int(shares.work_ns[gap])))
    found.sort(key=lambda share: -share.ns)
    return (*found, Share(RESIDUAL, int(shares.residual_ns[gap])))


def _who(verdicts: GapVerdicts, gap: int, cause: int) -> str:
    """Name who or what a cause was in a gap: those with most time, and how many more there are."""
    segments = verdicts.segments
    low, high = np.searchsorted(segments.span, [gap, gap + 1])
    visit = segments.visit[low:high]
    own = segments.visit_cause[visit] == cause
    net: dict[str, int] = {}
    for v, ns in zip(visit[own], segments.length_ns[low:high][own], strict=True):
        word = segments.details[int(segments.visit_detail[v])]
        net[word] = net.get(word, 0) + int(ns)
    words = sorted((word for word in net if word), key=lambda word: -net[word])
    more = len(words) - _MOST_WHO
    told = ", ".join(words[:_MOST_WHO])
    return f"{told} and {more} more" if more > 0 else told


def worst_gaps(verdicts: Sequence[GapVerdicts], n: int) -> tuple[GapStory, ...]:
    """Describe the n longest gaps of all threads."""
    longest = [(int(ns), i, g) for i, v in enumerate(verdicts) for g, ns in _longest(v, n)]
    longest.sort(key=lambda row: (-row[0], row[1], row[2]))
    return tuple(tell_gap(verdicts[i], g) for _, i, g in longest[:n])


def _longest(verdicts: GapVerdicts, n: int) -> list[tuple[int, int]]:
    length = verdicts.spans.length_ns
    longest = np.argsort(-length, kind="stable")[:n].tolist()
    return [(gap, int(length[gap])) for gap in longest]


def cause_of_gap(line: OneLine, gap: Ints) -> tuple[Ints, Ints]:
    """Give cause and grade of gaps by index; for -1 (no gap) the cause is unknown, grade D."""
    return at_or(line.cause, gap, NUMBER[causes.UNKNOWN]), at_or(line.grade, gap, D)
