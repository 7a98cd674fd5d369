"""Latency against what it costs: what the figures of processor time and of energy share."""

from collections.abc import Callable
from dataclasses import dataclass

from taut.analysis.load import rate_words
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    column_data,
    device_colour,
    layered,
    time_axis,
    time_scale,
)
from taut.report.scene import Device, Scene

_SHOWN = ("p50", "p99")


@dataclass(frozen=True)
class Cost:
    """What a device costs, and how its axis is drawn."""

    column: str
    title: str
    tooltip: str
    axis_to: float
    """The axis goes from 0 to this at least."""
    differs_by: float
    """Devices whose costs differ by a smaller factor all cost the same."""
    of: Callable[[Device], float | None]
    """None: unknown of this device."""


def draw_cost(scene: Scene, cost: Cost) -> Chart | None:
    """One line a device and percentile; nothing where all devices cost the same at every rate."""
    rows = [row for device in scene.at_every_rate for row in _points(device, cost)]
    costs = [float(row[cost.column]) for row in rows]
    if not rows or max(costs) < cost.differs_by * min(costs):
        return None
    labels = list(dict.fromkeys(str(row["device"]) for row in rows))
    least = min(float(row["latency_us"]) for row in rows)
    most = max(float(row["latency_us"]) for row in rows)
    base = alt.Chart(column_data(rows)).encode(
        x=alt.X(
            f"{cost.column}:Q",
            scale=alt.Scale(domain=[0, max(cost.axis_to, *costs)], nice=True),
            axis=alt.Axis(title=cost.title),
        ),
        y=alt.Y(
            "latency_us:Q",
            scale=time_scale(least, most, 0.8, 1.6),
            axis=time_axis("service latency", least, most),
        ),
        color=device_colour(scene.colours_of(labels)),
        tooltip=[
            alt.Tooltip("device:N"),
            alt.Tooltip("rate:N", title="offered"),
            alt.Tooltip("percentile:N"),
            alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
            alt.Tooltip(f"{cost.column}:Q", format=".1f", title=cost.tooltip),
        ],
    )
    dash = alt.StrokeDash(
        "percentile:N",
        scale=alt.Scale(domain=list(_SHOWN), range=[[1, 0], [7, 3]]),
        legend=alt.Legend(symbolType="stroke", symbolSize=300),
    )
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=dash, order=alt.Order("rate_pps:Q"))
    return layered(lines, base.mark_point(filled=True, size=40, opacity=1), height=340)


def _points(device: Device, cost: Cost) -> list[Mark]:
    row, value = device.row, cost.of(device)
    return [
        {
            "device": device.label,
            "rate": rate_words(row.load.asked_pps),
            "rate_pps": row.load.asked_pps or 0.0,
            "percentile": name,
            "latency_us": latency_ns / 1e3,
            cost.column: value,
        }
        for name in _SHOWN
        if value is not None
        and (latency_ns := row.latency.percentiles_ns[name]) is not None
        and name not in row.doubt.unsupported_percentiles
    ]
