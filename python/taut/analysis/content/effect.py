"""How much slower or faster a class is, in figures a reader can use."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from taut.analysis.content.heads import Ints, MatchedFrames
from taut.analysis.content.layers import Mask
from taut.analysis.content.tails import Tail, TimeBlocks
from taut.records.documents.content import (
    MAX_LISTED,
    CaptureShare,
    ContentClass,
    ListedPacket,
    TailShare,
)

_EXACT_UP_TO = 100
_MAX_ALSO = 8


@dataclass(frozen=True)
class Description:
    """A class in words: which packets it holds, and how sure that is."""

    field: str
    value: str
    p_corrected: float
    """Of packets like all others, over all that was tried."""
    also: Sequence[str]
    """Other names of the same packets."""
    alternative: str | None = None
    """What would look the same; None: nothing known."""


def tail_share(tail: Tail, depth: int, is_member: Mask, alive: Mask) -> TailShare:
    """Share of class and tail in each other, among the packets not yet explained."""
    in_tail = tail.holds(depth) & alive
    n_tail, n = int(np.count_nonzero(in_tail)), int(np.count_nonzero(alive))
    m, n_both = int(np.count_nonzero(is_member)), int(np.count_nonzero(in_tail & is_member))
    rest = (n_tail - n_both) / max(n - m, 1)
    return TailShare(n_tail, n_both, n_both / max(m, 1), n_both / max(n_tail, 1), rest)


def describe(
    frames: MatchedFrames,
    blocks: TimeBlocks,
    is_member: Mask,
    alive: Mask,
    tail: Tail,
    depth: int,
    description: Description,
) -> ContentClass:
    """Put a class into figures, against the rest: packets that no class explains.

    Each capture has clocks of its own: latencies are those of the first, which has to have
    members and others.
    """
    in_tail = tail.holds(depth)
    members, rest = np.flatnonzero(is_member), np.flatnonzero(alive & ~is_member)
    n_first = frames.captures[0].stop
    own = np.sort(blocks.residual[members])
    others = np.sort(blocks.residual[rest])
    own_low, own_high = median_interval(own)
    rest_low, rest_high = median_interval(others)
    return ContentClass(
        field=description.field,
        value=description.value,
        direction=tail.direction,
        n_packets=len(members),
        median_ns=_median(np.sort(frames.latency_ns[members[members < n_first]])),
        rest_median_ns=_median(np.sort(frames.latency_ns[rest[rest < n_first]])),
        shift_ns=_median(own) - _median(others),
        shift_interval_ns=(own_low - rest_high, own_high - rest_low),
        tail=tail_share(tail, depth, is_member, alive),
        by_capture=[
            CaptureShare(
                int(np.count_nonzero(is_member[capture])),
                int(np.count_nonzero(is_member[capture] & in_tail[capture])),
            )
            for capture in frames.captures
        ],
        packets=_listed(frames, members),
        p_corrected=description.p_corrected,
        also=description.also,
        alternative=description.alternative,
    )


def also_called(own: str, names: Iterable[str]) -> list[str]:
    """Give the other names of the packets called `own`: the first few, each once."""
    return [name for name in dict.fromkeys(names) if name != own][:_MAX_ALSO]


def _listed(frames: MatchedFrames, members: Ints) -> list[ListedPacket]:
    of_this = members[members < frames.captures[0].stop]
    return [
        ListedPacket(int(frames.position[i]), int(frames.time_ns[i]), int(frames.latency_ns[i]))
        for i in of_this[:MAX_LISTED]
    ]


def _median(ordered: Ints) -> int:
    return int(ordered[(len(ordered) - 1) // 2])


def median_interval(ordered: Ints) -> tuple[int, int]:
    """Bound the median by order statistics: 95 %, or the extremes of fewer than 6 values."""
    n = len(ordered)
    if n > _EXACT_UP_TO:
        rank = int(n / 2 - 1.96 * sqrt(n) / 2)
    else:
        # The greatest rank r with P(Binomial(n, 1/2) <= r) at most 2.5 %.
        below, rank = 0, -1
        while below + comb(n, rank + 1) <= 0.025 * 2**n:
            rank += 1
            below += comb(n, rank)
        rank = max(rank, 0)
    return int(ordered[rank]), int(ordered[n - 1 - rank])
