"""Is it the content, or the moment? A class is compared with packets at fixed distances from it.

Shift the class by d packets: if content matters, the packets d away are no slower than any. If
they are in the tail nearly as often as the class, a burst (d near) or a timer (d a period) made the
class slow. After the class (d > 0) packets may wait behind it; a batch delays those before and
after it. So near by only the least of the 16 packets before counts, and farther away every
distance that a timer may have: up to 50 ms, with ticks of 1, 4 and 10 ms several times in it, or
65,536 packets, or an eighth of them all, whichever is least.

A class that repeats itself with such a period covers its own shifts: it cannot be controlled, and
a timer in step with it would look the same. The result names it, but not as a class.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taut.analysis.content.heads import Ints, MatchedFrames
from taut.analysis.content.layers import Mask
from taut.analysis.content.tails import Floats

Spectrum = npt.NDArray[np.complex128]

TIMER_SPAN_NS = 50_000_000
NEAR, FAR = 16, 32
"""In packets: a burst is looked for so near, the ticks of a timer from so far away on."""

SAME_MOMENT = "packets at other moments of the same burst or timer are as slow or fast"

_MIN_SPAN, _MAX_SPAN = 256, 65_536
_AS_OFTEN = 0.67  # of the class's own excess in the tail
_PERIODIC, _FORGOTTEN = 0.5, 0.2


def span_packets(frames: MatchedFrames) -> int:
    """Give the longest period of a timer looked for, in packets.

    TIMER_SPAN_NS at the mean rate, but _MIN_SPAN at least; then at most _MAX_SPAN, and an eighth of
    all packets.
    """
    n, times = len(frames.time_ns), [frames.time_ns[capture] for capture in frames.captures]
    duration_ns = max(sum(int(t[-1] - t[0]) for t in times if len(t)), 1)
    span = n * TIMER_SPAN_NS // duration_ns
    return int(min(max(span, _MIN_SPAN), _MAX_SPAN, n // 8))


def work_of_time(
    is_member: Mask, in_tail: Mask, span: int, captures: Sequence[slice]
) -> str | None:
    """Say why a class cannot be told from its moment; None if it can."""
    n, m = len(is_member), int(np.count_nonzero(is_member))
    shift = np.arange(-span, span + 1)
    own, hits, inside = np.zeros((3, len(shift)), np.int64)
    for capture in captures:
        of_class, of_tail = is_member[capture], in_tail[capture]
        size = 1 << (len(of_class) + span).bit_length()
        member = np.fft.rfft(of_class, size)
        own += _shifted(member, member, size, span)
        hits += _shifted(member, np.fft.rfft(of_tail & ~of_class, size), size, span)
        inside += _inside(of_class, shift)
    period = _period(own[span + 1 :] / m, m / n)
    if period:
        return f"repeats every {period} packets, as a timer would"
    others = inside - own
    can_tell = others >= max(2, m / 4)
    base = np.count_nonzero(in_tail) / n
    limit = base + _AS_OFTEN * (np.count_nonzero(in_tail & is_member) / m - base)
    share = np.where(can_tell, hits / np.maximum(others, 1), np.nan)
    far = share[(np.abs(shift) >= FAR) & can_tell]
    before = share[(shift < 0) & (shift >= -NEAR) & can_tell]
    if len(far) == 0:
        return "covers whole stretches of time"
    if far.max() > limit or (len(before) and before.min() > limit):
        return SAME_MOMENT
    return None


def _shifted(members: Spectrum, others: Spectrum, size: int, span: int) -> Ints:
    """Count members i for which i + d is one of the others, d from -span to span."""
    counts = np.rint(np.fft.irfft(np.conj(members) * others, size)).astype(np.int64)
    return np.concatenate([counts[size - span :], counts[: span + 1]])


def _inside(is_member: Mask, shift: Ints) -> Ints:
    """Count members whose shifted place is still in the capture."""
    at = np.flatnonzero(is_member)
    before = np.searchsorted(at, -shift)  # members before `at` have a negative i + d
    after = len(at) - np.searchsorted(at, len(is_member) - shift)
    return np.asarray(len(at) - before - after)


def _period(own_share: Floats, by_chance: float) -> int | None:
    """The first distance at which a class meets itself again after having lost itself."""
    skill = (own_share - by_chance) / (1 - by_chance)
    forgotten = np.flatnonzero(skill < _FORGOTTEN)
    if len(forgotten) == 0:
        return None
    again = np.flatnonzero(skill[forgotten[0] :] > _PERIODIC)
    return int(forgotten[0] + again[0]) + 1 if len(again) else None
