"""Whether a counter's value is the reason, or something that happens with the same period.

A value that comes back every 65,536 packets is slow each time. So would be whatever a machine does
every 65,536 packets: in one capture nobody can tell, and the class is told with that beside it.
What can be told: a shorter period of which the counter's is a multiple makes other packets as slow
(those half a period away, a third, ...); so do a timer, a burst, and the packet just before.

Several captures settle it where the value comes at another place in each: a period counted from
the start then meets another value.
"""

from dataclasses import dataclass

import numpy as np

from taut.analysis.content.control import FAR, NEAR, SAME_MOMENT
from taut.analysis.content.heads import Ints, MatchedFrames
from taut.analysis.content.ranks import Ranks
from taut.analysis.content.tails import Floats

_AS_SLOW = 0.67  # of what the class has above the average packet
_IN_A_BURST = 0.33  # the same, for the mean of the packets before it
_SIDE = 2  # a part of a period is rounded
_MIN_SHARE, _MIN_MEMBERS = 0.6, 3  # of the members whose packet at a distance is in the capture
_REGULAR = 0.01  # of a period
_APART = 1 / 64  # of a period, between places that are not the same
_SLOW_IN_CAPTURE = float(np.log(0.01))


@dataclass(frozen=True)
class PeriodVerdict:
    """What captures say of a value: one field is set, or none where the value is the reason."""

    alternative: str | None = None
    """Something else that would look the same."""
    rejection: str | None = None
    """Why the value is not the reason."""


def own_period(frames: MatchedFrames, members: Ints, period: int | None) -> int | None:
    """Give the counter's period if the members keep it; None if they come back irregularly."""
    if period is None:
        return None
    for of_capture in _held(frames, members):
        apart = np.diff(frames.position[of_capture])
        wraps = np.maximum(np.rint(apart / period), 1)
        if (np.abs(apart - wraps * period) > _REGULAR * period).any():
            return None
    return period


def work_of_timer(
    frames: MatchedFrames, ranks: Ranks, members: Ints, period: int | None, span: int
) -> str | None:
    """Say what else is as slow as the members, so that time made them slow; None if nothing is."""
    own = float(ranks.rough[members].mean())
    limit = 1 + _AS_SLOW * (own - 1)
    before = _means_at(frames, ranks.rough, members, np.arange(-NEAR, 0))
    if _greatest(before) > limit:
        return "packets just before are as slow or fast"
    seen = before[~np.isnan(before)]
    if len(seen) and seen.mean() > 1 + _IN_A_BURST * (own - 1):
        return "lies in stretches that are slow or fast as a whole"
    timer = _both(np.arange(FAR, span + 1))
    if _greatest(_means_at(frames, ranks.rough, members, timer)) > limit:
        return SAME_MOMENT
    parts = [round(period / n) for n in range(2, period // span + 1)] if period else []
    for part in parts:
        around = _both(np.arange(part - _SIDE, part + _SIDE + 1))
        if _greatest(_means_at(frames, ranks.rough, members, around)) > limit:
            return f"packets {part:,} away are as slow or fast, as a timer would have it"
    return None


def judge_captures(
    frames: MatchedFrames, ranks: Ranks, members: Ints, period: int | None, reach: int
) -> PeriodVerdict:
    """Hold several captures against each other; `period` is that of own_period."""
    held = _held(frames, members)
    slow = [own for own in held if ranks.log_p(own, reach) < _SLOW_IN_CAPTURE]
    beside = f"something with a period of {period:,} packets" if period else None
    if len(slow) < len(held):
        reason = f"stands out in {len(slow)} of {len(held)} captures"
        return PeriodVerdict(
            rejection=f"{reason}: {beside} rather than the value" if beside else reason
        )
    if len(held) == 1:
        return PeriodVerdict(alternative=beside)
    places = frames.position[[own[0] for own in held]] % (period or np.iinfo(np.int64).max)
    apart = np.abs(places - places[0])
    if period:
        apart = np.minimum(apart, period - apart)
    if apart.max() > max(_APART * (period or 0), NEAR):
        return PeriodVerdict()
    return PeriodVerdict(alternative=beside or "the place in the capture")


def _held(frames: MatchedFrames, members: Ints) -> list[Ints]:
    """The members of each capture that has any."""
    by_capture = [members[(members >= c.start) & (members < c.stop)] for c in frames.captures]
    return [members for members in by_capture if len(members)]


def _greatest(means: Floats) -> float:
    return float(means[~np.isnan(means)].max(initial=0.0))


def _both(shift: Ints) -> Ints:
    return np.concatenate([-shift, shift])


def _means_at(frames: MatchedFrames, strength: Floats, members: Ints, shifts: Ints) -> Floats:
    """Mean strength of the packets at each distance from the members; NaN for too few of them."""
    total, n = np.zeros(len(shifts)), np.zeros(len(shifts), np.int64)
    for capture in frames.captures:
        position = frames.position[capture]
        in_capture = members[(members >= capture.start) & (members < capture.stop)]
        wanted = frames.position[in_capture][:, None] + shifts
        at = np.minimum(np.searchsorted(position, wanted), max(len(position) - 1, 0))
        is_there = position[at] == wanted
        total += np.where(is_there, strength[capture][at], 0.0).sum(axis=0)
        n += is_there.sum(axis=0)
    enough = n >= max(min(_MIN_MEMBERS, len(members)), _MIN_SHARE * len(members))
    return np.where(enough, total / np.maximum(n, 1), np.nan)
