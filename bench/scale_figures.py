"""The two figures of scale.py, by the plotting library of the reports."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from taut.report.chart import (
    Chart,
    alt,
    as_spec,
    column_data,
    decades,
    device_colour,
    layered,
    time_axis,
    time_scale,
    write_images,
)
from taut.report.palette import DEVICE_TOKENS

Curves = Mapping[str, Mapping[int, tuple[float, float]]]
"""Seconds of processor time and MiB by number of packets, by the name of a line."""

_HEIGHT = 380
_COUNT_LABEL = "format(datum.value, '~s')"
_MEMORY_LABEL = "datum.value >= 1000 ? datum.value / 1000 + ' GB' : datum.value + ' MB'"
_MB_PER_MIB = 2**20 / 1e6


def draw(curves: Curves, folder: Path) -> None:
    """Write scale-time.svg and scale-memory.svg."""
    colours = dict(zip(curves, DEVICE_TOKENS, strict=False))
    rows = [
        {"device": name, "packets": n, "us": seconds * 1e6, "mb": mib * _MB_PER_MIB}
        for name, at in curves.items()
        for n, (seconds, mib) in sorted(at.items())
    ]
    base = alt.Chart(column_data(rows)).encode(
        x=_packets_axis([row["packets"] for row in rows]),
        color=device_colour(colours),
    )
    times = [float(row["us"]) for row in rows]
    least, most = min(times), max(times)
    of_time = alt.Y(
        "us:Q",
        scale=time_scale(least, most, 0.7, 1.4),
        axis=time_axis("processor time", least, most),
    )
    with tempfile.TemporaryDirectory(prefix="taut-bench-") as drawn:
        specs = {
            "scale-time": as_spec(_lines(base, of_time)),
            "scale-memory": as_spec(_lines(base, _memory_axis([row["mb"] for row in rows]))),
        }
        write_images(specs, Path(drawn))
        for name in specs:
            shutil.copy(Path(drawn, f"{name}.svg"), folder / f"{name}.svg")


def _lines(base: Chart, y: alt.Y) -> Chart:
    points = base.mark_point(filled=True, size=50, opacity=1).encode(y=y)
    return layered(base.mark_line(strokeWidth=2.25).encode(y=y), points, height=_HEIGHT)


def _packets_axis(numbers: list[int]) -> alt.X:
    return alt.X(
        "packets:Q",
        scale=alt.Scale(type="log", domain=[min(numbers), max(numbers)], nice=False),
        axis=alt.Axis(
            title="packets",
            values=decades(min(numbers), max(numbers)),
            labelExpr=_COUNT_LABEL,
        ),
    )


def _memory_axis(mbs: list[float]) -> alt.Y:
    least, most = 10 ** int(len(str(int(min(mbs)))) - 1), max(mbs) * 1.3
    return alt.Y(
        "mb:Q",
        scale=alt.Scale(type="log", domain=[least, most], nice=False),
        axis=alt.Axis(
            title="most resident memory at one time",
            values=decades(least, most),
            labelExpr=_MEMORY_LABEL,
        ),
    )
