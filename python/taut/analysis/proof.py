"""Whether a share of failures is shown to be below, or above, what is allowed.

Failures come in clumps, so packets are judged as the independent ones they are worth
(effective.py).  With k failures among n of these the share is below q with 95 % confidence where n
is at least m / q: m the mean of a Poisson number that is k or less in 5 % of cases (Clopper &
Pearson 1934 for rare failures; without any, m is 3.0).  So 1e-5 takes 299,573 packets without a
failure, 474,386 with one.  It is above q where so many failures are rarer than that if it were q.
"""

from collections.abc import Sequence
from enum import StrEnum

from taut.analysis.effective import CONFIDENCE
from taut.analysis.holm import ERROR, holm


class Verdict(StrEnum):
    """What is shown of a requirement."""

    MET = "pass"
    NOT_MET = "fail"
    NOT_SHOWN = "inconclusive"
    """Too few independent packets: it may be met or not."""
    INVALID = "invalid"
    """What was measured is the instrument, or not whole."""


_MOST_TIMES = 1e9


def packets_needed(n_failed: float, share: float) -> int:
    """Give the independent packets that show a share of failures to be below `share`."""
    from scipy.special import gammaincinv

    return int(gammaincinv(n_failed + 1, CONFIDENCE) / share)


def shown(n_failed: float, n: int, share: float) -> Verdict:
    """Say what `n_failed` of `n` independent packets show; a share of 0 allows none at all."""
    if share <= 0:
        return Verdict.NOT_MET if n_failed else Verdict.MET
    if n >= packets_needed(n_failed, share):
        return Verdict.MET
    return Verdict.NOT_MET if chance(n_failed, n, share) < ERROR else Verdict.NOT_SHOWN


def chance(n_failed: float, n: int, share: float) -> float:
    """Give how likely so many failures are, or more, where a share that may fail just does."""
    from scipy.special import gammainc

    return float(gammainc(n_failed, n * share)) if n_failed > 0 else 1.0


def may_be_luck(chances: Sequence[float | None]) -> list[bool]:
    """Say of each of several requirements whether its failure may be luck among so many.

    None: it is not one that luck could fail. What is said of one that did not fail means nothing.
    """
    corrected = iter(holm([one for one in chances if one is not None]))
    return [one is not None and next(corrected) >= ERROR for one in chances]


def times_as_long(n_failed: float, n: int, share: float) -> float | None:
    """Give how many times as long must be measured to pass, if failures stay as frequent.

    None: they are too frequent to pass however long is measured.
    """
    times = 1.0
    while times < _MOST_TIMES:
        needed = packets_needed(n_failed * times, share)
        if n * times >= needed:
            return times
        times = max(times * 1.01, min(needed / n, times * 2))
    return None
