"""Latency against load, up to the knee and beyond it."""

from collections.abc import Sequence

from taut.analysis.knee import LOSS, P50_FACTOR, achieved_of, find_knee, find_unsent
from taut.analysis.load import rate_words
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    column_data,
    decades,
    device_colour,
    is_wide,
    layered,
    time_axis,
    time_scale,
)
from taut.report.scene import Device, Scene

_SHOWN = ("p50", "p99", "p99.9")
_ROOM = 1.3


class LatencyAgainstRate:
    """Latency over offered rate, with the knee."""

    id = "rate"
    question = "How much load does each device take before it queues or loses packets?"
    reading = (
        f"The diamond is the knee: the first rate with more than {100 * LOSS:g} % loss, less than "
        "99.9 % of the rate achieved that the generator can send, or a median over "
        f"{P50_FACTOR} times the lowest rate's; a line below says which. From there on latency is "
        "buffer size. Percentiles without support are left out."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One line a device and percentile, over every rate of the same traffic."""
        devices = scene.at_every_rate
        rows = [row for device in devices for row in _points(device)]
        if len({row["rate_pps"] for row in rows}) < 2:
            return None
        labels = list(dict.fromkeys(d.label for d in devices))
        color = device_colour(scene.colours_of(labels))
        least = min(float(r["latency_us"]) for r in rows)
        most = max(float(r["latency_us"]) for r in rows)
        x = _rate_axis([float(row["rate_pps"]) for row in rows])
        y = alt.Y(
            "latency_us:Q",
            scale=time_scale(least, most, 0.8, 1.6),
            axis=time_axis("service latency", least, most),
        )
        dash = alt.StrokeDash(
            "percentile:N",
            scale=alt.Scale(domain=list(_SHOWN), range=[[1, 0], [7, 3], [2, 3]]),
            legend=alt.Legend(symbolType="stroke", symbolSize=300),
        )
        tooltip = [
            alt.Tooltip("device:N"),
            alt.Tooltip("rate_pps:Q", format=",.0f", title="offered (pkt/s)"),
            alt.Tooltip("percentile:N"),
            alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
            alt.Tooltip("lost:N", title="lost"),
        ]
        base = alt.Chart(column_data(rows)).encode(x=x, y=y, color=color, tooltip=tooltip)
        layers = [
            base.mark_line(strokeWidth=2).encode(strokeDash=dash),
            base.mark_point(filled=True, size=30, opacity=1),
        ]
        knees, words = _knees(devices, labels)
        if knees:
            marked = alt.Chart(column_data(knees)).encode(x=x, y=y, color=color)
            layers.append(marked.mark_point(shape="diamond", size=180, strokeWidth=2.5))
        chart = layered(*layers, height=340)
        # Below the axis: no place in the figure is free for certain.
        return chart.properties(title=_below(words)) if words else chart


def _rate_axis(rates: Sequence[float]) -> alt.X:
    """Give equal room to equal ratios where the rates span decades."""
    least, most = min(rates), max(rates)
    axis = alt.Axis(
        title="offered (pkt/s)", labelExpr="format(datum.value, '~s')", grid=False, labelFlush=False
    )
    if is_wide(least, most):
        axis["values"] = decades(least, most)
        scale = alt.Scale(type="log", domain=[least / _ROOM, most * _ROOM], nice=False)
    else:
        axis["tickCount"] = 8
        scale = alt.Scale(zero=True, nice=True)
    return alt.X("rate_pps:Q", axis=axis, scale=scale)


def _below(lines: list[str]) -> alt.TitleParams:
    return alt.TitleParams(
        text=lines,
        orient="bottom",
        anchor="start",
        color="@ink",
        fontSize=12,
        fontWeight="normal",
        lineHeight=17,
        offset=12,
    )


def _points(device: Device) -> list[Mark]:
    row = device.row
    return [
        {
            "device": device.label,
            "rate_pps": row.load.asked_pps or 0.0,
            "percentile": name,
            "latency_us": value / 1e3,
            "lost": f"{row.lost} of {row.sent}",
        }
        for name in _SHOWN
        if (value := row.latency.percentiles_ns[name]) is not None
        and name not in row.doubt.unsupported_percentiles
    ]


def _knees(devices: Sequence[Device], labels: Sequence[str]) -> tuple[list[Mark], list[str]]:
    """Give a mark and a line for each knee; where nothing came back there is only the line.

    A rate that the generator did not send has a line alone, too.
    """
    found: list[Mark] = []
    words = []
    for label in labels:
        mine = [d for d in devices if d.label == label]
        if mine[0].is_floor:
            continue
        rows, runs = [d.row for d in mine], set(mine[0].runs.values())
        floors = [d.row for d in devices if d.is_floor and runs & set(d.runs.values())]
        if (unsent := find_unsent(rows, floors)) is not None:
            rate = rate_words(unsent.load.asked_pps)
            words.append(f"{label} at {rate}: the generator did not send it, {achieved_of(unsent)}")
        knee = find_knee(rows, floors)
        if knee is None:
            continue
        row, why = knee
        words.append(f"◇ {label} at {rate_words(row.load.asked_pps)}: {why}")
        if (p50_ns := row.latency.p50_ns) is not None:
            rate_pps = row.load.asked_pps or 0.0
            found.append({"device": label, "rate_pps": rate_pps, "latency_us": p50_ns / 1e3})
    return found, words
