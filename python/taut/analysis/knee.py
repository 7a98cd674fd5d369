"""The knee: the first offered rate at which a device no longer keeps up.

Beyond it, latency is the size of the buffers, not a property of the path (method: overload).
"""

from collections.abc import Sequence

from taut.analysis.load import share_words
from taut.core.units import digits_of
from taut.records.documents.results import Variant

LOSS = 0.001
RATE = 0.999
P50_FACTOR = 10


def find_knee(rows: Sequence[Variant]) -> tuple[Variant, str] | None:
    """Give the row with the lowest overloaded rate, and why it is overloaded; None: none is.

    `rows` are those of one device under one traffic.
    """
    ordered = sorted(rows, key=lambda r: r.offered_pps)
    lowest = ordered[0].latency.p50_ns if ordered else None
    for row in ordered:
        reason = _overload(row, lowest)
        if reason:
            return row, reason
    return None


def _overload(row: Variant, lowest_p50_ns: int | None) -> str | None:
    if row.loss_ratio > LOSS:
        return f"{share_words(row.loss_ratio)} lost"
    if row.achieved_pps < RATE * row.offered_pps:
        achieved = digits_of(100 * row.achieved_pps / row.offered_pps, unlike=100)
        return f"{achieved} % of the rate achieved"
    p50 = row.latency.p50_ns
    if p50 is not None and lowest_p50_ns and p50 > P50_FACTOR * lowest_p50_ns:
        return f"median {digits_of(p50 / lowest_p50_ns, 2)} times the lowest rate's"
    return None
