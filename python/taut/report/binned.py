"""Packets in bins of equal ratio, and the chart that draws them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.report.chart import Chart, alt, column_data, decades, device_colour, latency_axis, layered
from taut.report.scene import Ints, Scene

BINS_PER_DECADE = 40
_LEAST_NS = 1
_HEIGHT = 280


def log_bins(label: str, values: Ints, n: Ints) -> list[dict[str, Any]]:
    """The share of packets in each bin; a run of empty bins is one step down and one up."""
    if not len(values):
        return []
    number = np.floor(np.log10(np.maximum(values, _LEAST_NS)) * BINS_PER_DECADE).astype(np.int64)
    first = int(number[0]) - 1
    counts = np.zeros(int(number[-1]) - first + 2, np.int64)
    np.add.at(counts, number - first, n)
    total = int(counts.sum())
    padded = np.concatenate([[0], counts, [0]])
    near = (padded[:-2] > 0) | (padded[1:-1] > 0) | (padded[2:] > 0)
    return [
        {
            "device": label,
            "from_us": 10 ** ((first + i) / BINS_PER_DECADE) / 1e3,
            "share": counts[i] / total,
            "packets": int(counts[i]),
        }
        for i in np.flatnonzero(near).tolist()
    ]


def draw_bins(
    scene: Scene, rows: Sequence[dict[str, Any]], title: str, mark_us: float | None = None
) -> Chart | None:
    """Step lines over a log axis of times; the share axis is log too, so one packet shows."""
    seen = [row for row in rows if row["packets"]]
    if not seen:
        return None
    labels = [d.label for d in scene.devices if any(r["device"] == d.label for r in seen)]
    domain, colours = scene.colour_scale(labels)
    low = min(float(row["from_us"]) for row in seen)
    high = max(float(row["from_us"]) for row in seen)
    least = min(float(row["share"]) for row in seen)
    # Zero has no place on a log axis: empty bins are drawn at the bottom edge.
    bottom = least / 2
    drawn = [{**row, "share": max(float(row["share"]), bottom)} for row in rows]
    x = alt.X(
        "from_us:Q",
        scale=alt.Scale(type="log", domain=[low / 1.3, high * 1.5], nice=False),
        axis=latency_axis(title, decades(low, high)),
    )
    base = alt.Chart(column_data(drawn)).encode(
        x=x,
        y=alt.Y(
            "share:Q",
            scale=alt.Scale(type="log", domain=[bottom, 1], nice=False),
            axis=alt.Axis(title="share of packets", format="~%", values=decades(bottom, 1)),
        ),
        color=device_colour(domain, colours),
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=1.75, clip=True).encode(
        tooltip=[
            alt.Tooltip("device:N"),
            alt.Tooltip("from_us:Q", format=",.3f", title="from (µs)"),
            alt.Tooltip("packets:Q", format=",", title="packets in the bin"),
        ]
    )
    area = base.mark_area(interpolate="step-after", opacity=0.12, line=False, clip=True).encode(
        y2=alt.Y2Datum(bottom)
    )
    layers: list[alt.Chart] = [area, line]
    if mark_us is not None:
        rule = alt.Chart(alt.InlineData(values=[{"at_us": mark_us}]))
        layers.append(rule.mark_rule(strokeDash=[4, 3], color="@muted").encode(x="at_us:Q"))
    return layered(*layers, height=_HEIGHT)
