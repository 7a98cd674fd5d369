"""How much of each percentile's latency the second run saves: the papers' figure."""

from collections.abc import Iterator

from taut.analysis.compare import Pair
from taut.analysis.difference import Shown
from taut.core.percentiles import PERCENTILES
from taut.report.chart import Chart, Mark, alt, column_data, device_colour, layered
from taut.report.palette import colour_devices
from taut.report.scene import Scene

_ROOM = 0.15
_HEIGHT = 320
_SIGNED = "datum.value == 0 ? '0' : format(datum.value, '+,') + ' %'"
_CLAIMED = "shown"
_OPEN = "not shown"
_NOT_DRAWN = (Shown.UNSUPPORTED, Shown.LOSSES, Shown.BROKEN)


class Improvement:
    """Relative improvement per percentile, with intervals."""

    id = "improvement"
    question = "How much faster is B than A, for typical packets and for slow ones?"
    reading = (
        "(A - B) / A of each percentile: above zero B is faster. The bar is the 95 % interval; "
        "filled marks are claimed; hollow ones are not, for the interval holds zero or there are "
        "too few repetitions for a claim (for less than four there is no bar). Percentiles without "
        "support, or whose losses differ, are left out, and bars that reach far out are cut."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One line a pair of devices."""
        rows = [row for pair in scene.pairs for row in _rows(pair)]
        if not rows:
            return None
        colours = colour_devices({pair.label: pair.a.is_floor for pair in scene.pairs})
        low, high = _domain(rows)
        base = alt.Chart(column_data(rows)).encode(
            x=alt.X(
                "percentile:N",
                scale=alt.Scale(domain=list(PERCENTILES)),
                axis=alt.Axis(
                    title="percentile of service latency",
                    labelAngle=0,
                    labelOverlap="parity",
                ),
            ),
            xOffset=alt.XOffset("device:N"),
            color=device_colour(colours),
            tooltip=[
                alt.Tooltip("device:N", title="devices"),
                alt.Tooltip("percentile:N"),
                alt.Tooltip("percent:Q", format="+.2f", title="improvement (%)"),
                alt.Tooltip("low:Q", format="+.2f", title="from (%)"),
                alt.Tooltip("high:Q", format="+.2f", title="to (%)"),
                alt.Tooltip("claim:N"),
            ],
        )
        y = alt.Y(
            "percent:Q",
            scale=alt.Scale(domain=[low, high], nice=True),
            axis=alt.Axis(title="improvement", labelExpr=_SIGNED),
        )
        bars = base.mark_rule(strokeWidth=2, clip=True).encode(
            y=alt.Y("low:Q", scale=alt.Scale(domain=[low, high], nice=True)), y2=alt.Y2("high:Q")
        )
        marks = [
            base.transform_filter(alt.datum.claim == claim)
            .mark_point(size=70, strokeWidth=2, opacity=1, clip=True, filled=claim == _CLAIMED)
            .encode(y=y)
            for claim in (_CLAIMED, _OPEN)
        ]
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        none = zero.mark_rule(color="@muted", strokeDash=[4, 3]).encode(y=alt.Y("zero:Q"))
        return layered(none, bars, *marks, height=_HEIGHT)


def _rows(pair: Pair) -> Iterator[Mark]:
    for difference in pair.differences:
        if difference.improvement is None or difference.shown in _NOT_DRAWN:
            continue
        if difference.name not in PERCENTILES:
            continue
        low, high = difference.improvement_interval or (
            difference.improvement,
            difference.improvement,
        )
        yield {
            "device": pair.label,
            "percentile": difference.name,
            "percent": 100 * difference.improvement,
            "low": 100 * low,
            "high": 100 * high,
            "claim": _CLAIMED if difference.shown in (Shown.FASTER, Shown.SLOWER) else _OPEN,
        }


def _domain(rows: list[Mark]) -> tuple[float, float]:
    """Give the range of the axis: all marks and zero, and bars up to that much beyond the marks."""
    marks = [float(row["percent"]) for row in rows] + [0.0]
    reach = max(max(marks) - min(marks), 10.0)
    low = max(min(min(float(row["low"]) for row in rows), 0.0), min(marks) - reach)
    high = min(max(max(float(row["high"]) for row in rows), 0.0), max(marks) + reach)
    room = _ROOM * max(high - low, 1e-3)
    return low - room, high + room
