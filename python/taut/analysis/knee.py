"""The knee: the first offered rate at which a device no longer keeps up.

Beyond it, latency is the size of the buffers, not a property of the path (method: overload).
"""

from collections.abc import Sequence

from taut.analysis.load import achieved_share, load_of, share_words
from taut.core.units import digits_of
from taut.records.documents.generator import RATE_TOLERANCE, share_in_time
from taut.records.documents.results import Variant

LOSS = 0.001
RATE = 1 - RATE_TOLERANCE
P50_FACTOR = 10


def find_knee(
    rows: Sequence[Variant], floors: Sequence[Variant] = ()
) -> tuple[Variant, str] | None:
    """Give the row with the lowest overloaded rate, and why it is overloaded; None: none is.

    `rows` are those of one device under one traffic, `floors` those of the instrument: a rate that
    the generator itself did not send overloads nobody.
    """
    ordered = sorted(rows, key=lambda r: r.offered_pps)
    lowest = ordered[0].latency.p50_ns if ordered else None
    for row in ordered:
        reason = _overload(row, lowest, floors)
        if reason:
            return row, reason
    return None


def find_unsent(rows: Sequence[Variant], floors: Sequence[Variant]) -> Variant | None:
    """Give the row with the lowest rate that the generator itself did not send; None: it sent all.

    It was held up, or it sent no more of that rate over the same link without a device.
    """
    unsent = [row for row in rows if _lacks_rate(row) and _is_generators(row, floors)]
    return min(unsent, key=lambda row: row.offered_pps, default=None)


def achieved_of(row: Variant) -> str:
    """Say how much of its rate a row had."""
    return f"{digits_of(100 * achieved_share(row), unlike=100)} % of the rate achieved"


def _overload(row: Variant, lowest_p50_ns: int | None, floors: Sequence[Variant]) -> str | None:
    own = (row.lost_void or 0) / max(1, row.sent)
    if row.loss_ratio - own > LOSS:
        return f"{share_words(row.loss_ratio - own)} lost"
    if _lacks_rate(row) and not _is_generators(row, floors):
        return achieved_of(row)
    p50 = row.latency.p50_ns
    if p50 is not None and lowest_p50_ns and p50 > P50_FACTOR * lowest_p50_ns:
        return f"median {digits_of(p50 / lowest_p50_ns, 2)} times the lowest rate's"
    return None


def _lacks_rate(row: Variant) -> bool:
    return row.achieved_pps < RATE * row.offered_pps


def _is_generators(row: Variant, floors: Sequence[Variant]) -> bool:
    """Whether a rate that was not achieved is no sign of a slow device.

    It is one where the floor of the same path, which lacks the rate as well, has more of it. What
    is void may all have been sent too late: no more than that is lacking, but for what was refused.
    More than a rate may lack, refused and not void, is the device's however late others are.
    """
    refused = row.refused > RATE_TOLERANCE * row.due
    in_time = share_in_time(row.achieved_pps, row.offered_pps, row.due, row.refused)
    is_late = row.instrument_limited or in_time < RATE <= in_time + row.void_share
    is_held_up = is_late and not refused
    return is_held_up or any(
        _lacks_rate(floor)
        and row.achieved_pps >= RATE * floor.achieved_pps
        and _path_of(floor) == _path_of(row)
        for floor in floors
    )


def _path_of(row: Variant) -> tuple[object, ...]:
    """Give what a floor and a device have in common; a floor is always on the host itself."""
    return load_of(row), row.device.link, row.device.host, row.device.beside
