"""Some of a thread's gaps with their verdicts, and parts of them together again."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taut.explain.arrays import Ints, Mask, at_or, joined
from taut.explain.judge.shares import Shares
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.walk.segments import Segments


def kept(verdicts: GapVerdicts, gaps: Mask) -> GapVerdicts:
    """Leave the marked gaps only, with the visits and details that are theirs."""
    segments, shares = verdicts.segments, verdicts.shares
    gap, rows = _renumbered(gaps), gaps[shares.gap]
    is_theirs = gaps[segments.visit_span]
    visit = _renumbered(is_theirs)
    inside = gaps[segments.span]
    numbers, detail = np.unique(np.append(segments.visit_detail[is_theirs], 0), return_inverse=True)
    return replace(
        verdicts,
        spans=verdicts.spans.take(gaps),
        segments=Segments(
            gap[segments.span[inside]],
            segments.start_ns[inside],
            segments.end_ns[inside],
            visit[segments.visit[inside]],
            gap[segments.visit_span[is_theirs]],
            segments.visit_cause[is_theirs],
            segments.visit_class[is_theirs],
            detail[:-1],
            segments.visit_by[is_theirs],
            segments.visit_joined[is_theirs],
            tuple(segments.details[number] for number in numbers.tolist()),
        ),
        shares=Shares(
            gap[shares.gap[rows]],
            shares.cause[rows],
            shares.net_ns[rows],
            shares.model_ns[rows],
            shares.limit_ns[rows],
            visit[shares.visit[rows]],
            shares.n_visits[rows],
            shares.work_ns[gaps],
            shares.residual_ns[gaps],
        ),
        cause=verdicts.cause[gaps],
        grade=verdicts.grade[gaps],
        visit=at_or(visit, verdicts.visit[gaps], -1),
        is_combined=verdicts.is_combined[gaps],
    )


def _renumbered(chosen: Mask) -> Ints:
    """Give the new number of each that is chosen."""
    return np.cumsum(chosen) - 1


def together(parts: Sequence[GapVerdicts]) -> GapVerdicts:
    """Make one of successive parts of a thread's gaps."""
    if len(parts) == 1:
        return parts[0]
    details: dict[str, int] = {"": 0}
    moved, n_gaps, n_visits = [], 0, 0
    for part in parts:
        moved.append(_moved(part, n_gaps, n_visits, details))
        n_gaps, n_visits = n_gaps + len(part.spans), n_visits + len(part.segments.visit_span)
    first, segments = moved[0], joined([part.segments for part in moved])
    return replace(
        first,
        spans=replace(first.spans, **joined([part.spans for part in moved])),
        segments=replace(first.segments, **segments, details=tuple(details)),
        shares=replace(first.shares, **joined([part.shares for part in moved])),
        **joined(moved),
    )


def _moved(part: GapVerdicts, n_gaps: int, n_visits: int, details: dict[str, int]) -> GapVerdicts:
    """Count a part's gaps and visits from other numbers on, and its details by a common list."""
    segments, shares = part.segments, part.shares
    number = [details.setdefault(word, len(details)) for word in segments.details]
    return replace(
        part,
        segments=replace(
            segments,
            span=segments.span + n_gaps,
            visit=segments.visit + n_visits,
            visit_span=segments.visit_span + n_gaps,
            visit_detail=np.array(number, np.int64)[segments.visit_detail],
        ),
        shares=replace(shares, gap=shares.gap + n_gaps, visit=shares.visit + n_visits),
        visit=np.where(part.visit >= 0, part.visit + n_visits, -1),
    )
