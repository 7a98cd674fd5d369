"""When the pairs are judged, and how much error each look may spend.

Judging again and again until something is claimed leads to too many claims. So the error is divided
over the looks beforehand (Bonferroni): when nothing helps, all looks together claim something at
most ALPHA of the time. A budget that ends between two looks gives the last one the error of those
not reached, which is sound because its end does not depend on what was measured.
"""

from dataclasses import dataclass

ALPHA = 0.025
"""The probability of claiming an effect, in either direction, where there is none."""


@dataclass(frozen=True)
class Look:
    """A number of pairs, and the error a claim there may have."""

    n_pairs: int
    alpha: float


# With 7 pairs the exact test can say p = 2 / 2^7 = 0.0156, with fewer never less than 0.03.
LOOKS = (Look(7, 0.016), Look(10, 0.006), Look(16, 0.003))
LEAST_PAIRS = LOOKS[0].n_pairs


def last_look(n_pairs: int) -> Look | None:
    """Give the look at which a budget ends after so many pairs; None: too few for any."""
    passed = [look for look in LOOKS if look.n_pairs < n_pairs]
    if n_pairs < LEAST_PAIRS:
        return None
    return Look(n_pairs, ALPHA - sum(look.alpha for look in passed))
