"""Packets in bins, of equal ratio or of equal width, and the chart that draws them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taut.report.chart import (
    SHARE_LABEL,
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
from taut.report.scene import Ints, Scene

BINS_PER_DECADE = 40
LINEAR_BINS = 40
"""The most bins of equal width; their width is 1, 2 or 5 times a power of ten."""

_HEIGHT = 280


def draw_bins(scene: Scene, metric: str, title: str, mark_us: float | None = None) -> Chart | None:
    """Step lines over an axis of times; the share axis is log, so that one packet shows."""
    counts = [(device.label, *device.counts(metric)) for device in scene.devices]
    counts = [(label, values, n) for label, values, n in counts if len(values)]
    if not counts:
        return None
    least_ns = min(int(values[0]) for _, values, _ in counts)
    greatest_ns = max(int(values[-1]) for _, values, _ in counts)
    if least_ns == 0:
        # A log axis has no zero: packets of one burst are drawn at the least there is.
        counts = [(label, np.maximum(values, 1), n) for label, values, n in counts]
    least_ns = least_ns or 1
    ends_ns = [float(least_ns), float(greatest_ns), *([] if mark_us is None else [1e3 * mark_us])]
    # Bins and axis are of one kind: the empty bin beside the first may begin at 0.
    wide = is_wide(min(ends_ns), max(ends_ns))
    edges_ns = edges_for(least_ns, greatest_ns, wide=wide)
    rows = [row for counted in counts for row in bin_rows(*counted, edges_ns)]
    return _draw(scene, rows, [label for label, _, _ in counts], title, mark_us, wide=wide)


def edges_for(least_ns: int, greatest_ns: int, *, wide: bool) -> npt.NDArray[np.float64]:
    """The lower edges of all bins, an empty one on either side; `wide`: of equal ratio."""
    if wide:
        first = int(np.floor(np.log10(least_ns) * BINS_PER_DECADE)) - 1
        last = int(np.floor(np.log10(greatest_ns) * BINS_PER_DECADE)) + 1
        edges: npt.NDArray[np.float64] = 10 ** (np.arange(first, last + 1) / BINS_PER_DECADE)
        return edges
    wanted = max((greatest_ns - least_ns) / LINEAR_BINS, 1)
    decade = 10 ** int(np.floor(np.log10(wanted)))
    width = next(step * decade for step in (1, 2, 5, 10) if step * decade >= wanted)
    return np.arange(least_ns // width - 1, greatest_ns // width + 2) * float(width)


def bin_rows(label: str, values: Ints, n: Ints, edges_ns: npt.NDArray[np.float64]) -> list[Mark]:
    """The share of packets in each bin; a run of empty bins is one step down and one up."""
    counts = np.zeros(len(edges_ns), np.int64)
    np.add.at(counts, np.searchsorted(edges_ns, values, side="right") - 1, n)
    total = int(counts.sum())
    padded = np.concatenate([[0], counts, [0]])
    near = (padded[:-2] > 0) | (padded[1:-1] > 0) | (padded[2:] > 0)
    return [
        {
            "device": label,
            "from_us": float(edges_ns[i]) / 1e3,
            "share": counts[i] / total,
            "packets": int(counts[i]),
        }
        for i in np.flatnonzero(near).tolist()
    ]


def _draw(
    scene: Scene,
    rows: Sequence[Mark],
    labels: Sequence[str],
    title: str,
    mark_us: float | None,
    *,
    wide: bool,
) -> Chart:
    drawn_us = [float(row["from_us"]) for row in rows if row["packets"]]
    drawn_us += [mark_us] if mark_us is not None else []
    low, high = min(drawn_us), max(drawn_us)
    least = min(float(row["share"]) for row in rows if row["packets"])
    # Zero has no place on a log axis: empty bins are drawn at the bottom edge.
    bottom = least / 2
    drawn = [{**row, "share": max(float(row["share"]), bottom)} for row in rows]
    x = alt.X(
        "from_us:Q",
        scale=time_scale(low, high, 1 / 1.3, 1.5, wide=wide),
        axis=time_axis(title, low, high, wide=wide),
    )
    base = alt.Chart(column_data(drawn)).encode(
        x=x,
        y=alt.Y(
            "share:Q",
            scale=alt.Scale(type="log", domain=[bottom, 1], nice=False),
            axis=alt.Axis(
                title="share of packets", labelExpr=SHARE_LABEL, values=decades(bottom, 1)
            ),
        ),
        color=device_colour(scene.colours_of(labels)),
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
        layers.append(rule.mark_rule(strokeDash=[4, 3], color="@muted").encode(x=alt.X("at_us:Q")))
    return layered(*layers, height=_HEIGHT)
