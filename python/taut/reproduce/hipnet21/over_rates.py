"""Shapes of one device over its rates: below overload a flat median, a tail near it; no loss."""

from collections.abc import Callable, Mapping

from taut.reproduce.experiment import Variants
from taut.reproduce.hipnet21.live import is_overloaded
from taut.reproduce.hipnet21.published import FIGURES, PUBLISHED_NS, whole_sent
from taut.reproduce.in_states import Judged, Shape, on_time, unsupported


def shapes_of_rates(flat: float, tails: Mapping[str, float]) -> tuple[Shape, ...]:
    """Give the shapes of one device over its rates, with these limits."""
    return (
        (f"the median is flat over the rate: within {flat} x", _FLATNESS, _flat(flat)),
        *(
            (f"{p} is at most {limit} x the median", _published_ratio(p), _tail(p, limit))
            for p, limit in tails.items()
        ),
        ("nothing is lost", "0", _nothing_lost),
    )


def _flat(limit: float) -> Callable[[Variants], Judged]:
    def judge(rows: Variants) -> Judged:
        found = (on_time(row).value_ns("p50") for row in rows if not is_overloaded(row))
        medians = [median for median in found if median]
        if len(medians) < 2 or min(medians) <= 0:
            return None
        ratio = max(medians) / min(medians)
        return f"{ratio:.2f} x over {len(medians)} rates", ratio <= limit

    return judge


def _tail(figure: str, limit: float) -> Callable[[Variants], Judged]:
    def judge(rows: Variants) -> Judged:
        ratios = [
            value / median
            for row in rows
            if figure not in unsupported(row) and not is_overloaded(row)
            for value, median in [(on_time(row).value_ns(figure), on_time(row).value_ns("p50"))]
            if value is not None and median is not None and median > 0
        ]
        return (f"{max(ratios):.2f} x", max(ratios) <= limit) if ratios else None

    return judge


def _nothing_lost(rows: Variants) -> Judged:
    lost = sum(row.lost + (row.warm_up.lost or 0) for row in rows)
    sent = sum(whole_sent(row) for row in rows)
    return f"{lost:,} of {sent:,}", lost == 0


def _published_ratio(figure: str) -> str:
    place = FIGURES.index(figure)
    return f"{max(values[place] / values[0] for values in PUBLISHED_NS.values()):.2f} x"


_PUBLISHED_MEDIANS = [values[0] for values in PUBLISHED_NS.values()]
_FLATNESS = f"{max(_PUBLISHED_MEDIANS) / min(_PUBLISHED_MEDIANS):.2f} x over 12 rates"
