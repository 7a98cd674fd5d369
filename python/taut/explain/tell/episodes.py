"""Packets with their verdicts become episodes: consecutive late packets with one cause.

What an episode is stands in analysis/episode.py and docs/measuring.md; here the threshold is the
one of the tail, and a run of packets with several causes is several episodes.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from taut.explain import causes
from taut.explain.arrays import Ints
from taut.explain.causes import CAUSES, NUMBER
from taut.explain.judge.blame import Blame, Relation
from taut.explain.judge.one_line import OneLine
from taut.explain.judge.verdicts import LETTERS, B, C, D
from taut.explain.read.packets import NEVER, Normal, Tail
from taut.explain.tell.gaps import cause_of_gap
from taut.explain.tell.result import CauseTotal

RELATION_WORDS = {
    Relation.STALLED: "stalled",
    Relation.QUEUED_BEHIND: "queued behind it",
    Relation.QUEUEING: "queueing",
    Relation.BATCHING: "batching",
    Relation.MEASURER: "measurer",
    Relation.UNEXPLAINED: "unexplained",
    Relation.HELD_BACK: "held back while the generator stood still",
}

_OF_RELATION = {
    Relation.QUEUEING: (causes.QUEUEING, B),
    Relation.BATCHING: (causes.BATCHING, B),
    Relation.MEASURER: (causes.MEASURER, B),
    Relation.UNEXPLAINED: (causes.UNKNOWN, D),
    Relation.HELD_BACK: (causes.MEASURER, B),
}


@dataclass(frozen=True)
class JudgedTail:
    """The tail's packets, what each is blamed on, and the episodes they make."""

    tail: Tail
    blame: Blame
    normal: Normal
    cause: Ints
    grade: Ints
    excess_ns: Ints  # over normal.base_ns; 0 for packets that did not come back
    episode: Ints  # number, -1: a run without a late packet is a loss, not an episode
    n_episodes: int
    first: Ints  # of each episode: its first packet in `tail`
    end: Ints  # one past its last


def judge_packets(tail: Tail, blame: Blame, normal: Normal, device: OneLine | None) -> JudgedTail:
    """Give each packet its cause and number the episodes."""
    n = len(tail)
    cause, grade = np.full(n, NUMBER[causes.UNKNOWN]), np.full(n, int(D))
    if device is not None:
        of_device = blame.relation <= Relation.QUEUED_BEHIND
        cause, grade = cause_of_gap(device, np.where(of_device, blame.gap, -1))
        grade = np.where(blame.is_combined, np.maximum(grade, C), grade)
    for relation, (row, letter) in _OF_RELATION.items():
        related = blame.relation == relation
        cause[related], grade[related] = NUMBER[row], letter
    if normal.is_partial:
        grade = np.full(n, int(D))  # part of the evidence is missing
    excess = np.where(tail.is_late, np.maximum(tail.latency_ns - normal.base_ns, 0), 0)
    fresh = np.ones(n, bool)
    fresh[1:] = (blame.island[1:] != blame.island[:-1]) | (cause[1:] != cause[:-1])
    run = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    end = np.append(first[1:], n) if n else first
    has_late = np.add.reduceat(tail.is_late.astype(np.int64), first) > 0 if n else first > 0
    number = np.where(has_late, np.cumsum(has_late) - 1, -1)
    episode = number[run] if n else run
    return JudgedTail(
        tail,
        blame,
        normal,
        cause,
        grade,
        excess,
        episode,
        int(np.count_nonzero(has_late)),
        first[has_late],
        end[has_late],
    )


def cause_totals(judged: JudgedTail) -> tuple[CauseTotal, ...]:
    """Sum up by cause, most packets of the tail first."""
    late = judged.tail.is_late
    n_tail = max(int(np.count_nonzero(late)), 1)
    of_episode = judged.cause[judged.first]
    start_ns, end_ns = _times(judged)
    found = []
    inside = judged.episode >= 0
    for number in np.unique(judged.cause[inside]):
        own = (judged.cause == number) & inside
        cause, hit = CAUSES[number], own & late
        episodes = of_episode == number
        found.append(
            CauseTotal(
                cause=cause.id,
                title=cause.title,
                n_episodes=int(np.count_nonzero(episodes)),
                n_packets=int(np.count_nonzero(hit)),
                n_lost=int(np.count_nonzero(own & judged.tail.is_lost)),
                n_unsent=int(np.count_nonzero(own & judged.tail.is_unsent)),
                total_ns=_covered_ns(start_ns[episodes], end_ns[episodes]),
                worst_ns=int(judged.excess_ns[own].max()),
                tail_share=int(np.count_nonzero(hit)) / n_tail,
                n_by_grade=_counts(judged.grade[hit], dict(enumerate(LETTERS))),
                n_by_relation=relation_counts(judged.blame.relation[hit]),
                remedies=cause.remedies,
                ask=cause.ask,
            )
        )
    return tuple(sorted(found, key=lambda total: (-total.n_packets, -total.total_ns)))


def _times(judged: JudgedTail) -> tuple[Ints, Ints]:
    """Give start and end of each episode: first packet sent, last one received."""
    tail = judged.tail
    return (
        _reduced(judged, tail.sent_ns, np.minimum),
        _reduced(judged, tail.received_ns, np.maximum),
    )


def _reduced(judged: JudgedTail, values: Ints, how: np.ufunc) -> Ints:
    """Reduce the values of each episode's packets to one value."""
    if not judged.n_episodes:
        return np.empty(0, np.int64)
    bounds = np.stack([judged.first, judged.end], axis=1).ravel()
    # reduceat needs every bound inside: one more value stands for the end.
    found: Ints = how.reduceat(np.append(values, 0), bounds)[::2]
    return found


def _covered_ns(start_ns: Ints, end_ns: Ints) -> int:
    """Give the time in which any of these intervals lasts."""
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], np.maximum.accumulate(end_ns[order])
    before = np.concatenate([start[:1], end[:-1]])
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def relation_counts(relation: Ints) -> dict[str, int]:
    """Count packets by how they are tied to their cause."""
    return _counts(relation, {int(k): word for k, word in RELATION_WORDS.items()})


def _counts(values: Ints, words: dict[int, str]) -> dict[str, int]:
    counts = np.bincount(values, minlength=len(words))
    return {words[k]: int(n) for k, n in enumerate(counts) if n}


def worst_episodes(judged: JudgedTail, n: int) -> Ints:
    """Give the numbers of the n episodes with the latest packets, the latest first."""
    worst = _reduced(judged, judged.excess_ns, np.maximum)
    return np.argsort(-worst, kind="stable")[:n]


def packet_table(judged: JudgedTail) -> pa.Table:
    """One row for each packet of the tail."""
    tail = judged.tail
    late = tail.is_late
    words = pa.array(list(RELATION_WORDS.values()))
    return pa.table(
        {
            "seq": tail.seq,
            "direction": tail.direction,
            "sent_ns": tail.sent_ns,
            "received_ns": pa.array(tail.received_ns, mask=tail.received_ns == NEVER),
            "latency_ns": pa.array(tail.latency_ns, mask=~late),
            "excess_ns": judged.excess_ns,
            "is_void": tail.is_void,
            "cause": pa.array([c.id for c in CAUSES]).take(pa.array(judged.cause)),
            "grade": pa.array(list(LETTERS)).take(pa.array(judged.grade)),
            "relation": words.take(pa.array(judged.blame.relation)),
            "episode": pa.array(judged.episode, mask=judged.episode < 0),
            "gap": pa.array(judged.blame.gap, mask=judged.blame.gap < 0),
        }
    )


def episode_table(judged: JudgedTail) -> pa.Table:
    """One row for each episode."""
    tail, first, end = judged.tail, judged.first, judged.end
    start_ns, end_ns = _times(judged)
    return pa.table(
        {
            "direction": tail.direction[first],
            "first_seq": tail.seq[first],
            "start_ns": start_ns,
            "end_ns": end_ns,
            "packets": end - first,
            "late": _reduced(judged, tail.is_late.astype(np.int64), np.add),
            "void": _reduced(judged, tail.is_void.astype(np.int64), np.add),
            "excess_ns": _reduced(judged, judged.excess_ns, np.add),
            "worst_ns": _reduced(judged, judged.excess_ns, np.maximum),
            "cause": pa.array([c.id for c in CAUSES]).take(pa.array(judged.cause[first])),
            "grade": pa.array(list(LETTERS)).take(pa.array(judged.grade[first])),
        }
    )
