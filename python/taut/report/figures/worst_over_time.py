"""The slowest packets over time: rhythm, bursts, a bad second."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from taut.analysis.worst import N_WORST
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    column_data,
    device_colour,
    is_wide,
    time_axis,
    time_scale,
)
from taut.report.scene import Device, Scene

# Two strokes: stays a cross at three pixels, where the built-in one is a blob.
_CROSS = "M-1,-1L1,1M-1,1L1,-1"

# Marks closer than this many to the width and height of the figure cover one another.
_ACROSS = 600
_UP = 160


class WorstOverTime:
    """The slowest packets by sending time."""

    id = "worst_over_time"
    question = "When were packets slow: at random, in bursts, in a rhythm?"
    reading = (
        f"The {N_WORST} slowest packets of each device's worst repetition, by the time they were "
        "sent. A cross is a packet the generator itself was late with. Marks that would cover one "
        "another are drawn once."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One point a packet."""
        rows = _samples(scene)
        if not rows:
            return None
        labels = [d.label for d in scene.devices if any(r["device"] == d.label for r in rows)]
        fastest = min(float(row["latency_us"]) for row in rows)
        slowest = max(float(row["latency_us"]) for row in rows)
        chart: Chart = (
            alt.Chart(column_data(rows))
            .mark_point(filled=False, strokeWidth=1.2, aria=False)
            .encode(
                x=alt.X(
                    "sent_s:Q",
                    axis=alt.Axis(
                        title="sent (seconds of the trial)",
                        grid=False,
                        tickCount=8,
                        labelFlush=False,
                    ),
                    scale=alt.Scale(nice=False, zero=True),
                ),
                y=alt.Y(
                    "latency_us:Q",
                    scale=time_scale(fastest, slowest, 0.8, 1.3),
                    axis=time_axis("service latency", fastest, slowest),
                ),
                color=device_colour(scene.colours_of(labels)),
                shape=alt.Shape(
                    "void:N",
                    scale=alt.Scale(domain=["valid", "void"], range=["circle", _CROSS]),
                    legend=None,
                ),
                size=alt.Size(
                    "void:O",
                    scale=alt.Scale(domain=["valid", "void"], range=[10, 30]),
                    legend=None,
                ),
                opacity=alt.value(0.55),
                tooltip=[
                    alt.Tooltip("device:N"),
                    alt.Tooltip("sent_s:Q", format=".6f", title="sent (s)"),
                    alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
                    alt.Tooltip("void:N", title="packet"),
                ],
            )
            .properties(height=320)
        )
        return chart


def _samples(scene: Scene) -> list[Mark]:
    return [row for device in scene.devices for row in _drawn_once(_rows(device))]


def _rows(device: Device) -> list[Mark]:
    """The slowest packets, the slowest first."""
    return [
        {
            "device": device.label,
            "sent_s": round(packet.sent_ns / 1e9, 6),
            "latency_us": packet.latency_ns / 1e3,
            "void": "void" if packet.is_void else "valid",
        }
        for packet in device.worst(N_WORST)
    ]


def _drawn_once(rows: Sequence[Mark]) -> list[Mark]:
    """Of packets whose marks would cover one another, the first; the slowest and fastest stay."""
    if not rows:
        return []
    times = np.array([row["sent_s"] for row in rows])
    latencies = np.array([row["latency_us"] for row in rows])
    if is_wide(latencies.min(), latencies.max()):
        latencies = np.log(latencies)
    cells = (_cells(times, _ACROSS), _cells(latencies, _UP), [str(row["void"]) for row in rows])
    first: dict[tuple[int, int, str], Mark] = {}
    for cell, row in zip(zip(*cells, strict=True), rows, strict=True):
        first.setdefault(cell, row)
    kept = list(first.values())
    return kept if kept[-1] is rows[-1] else [*kept, rows[-1]]


def _cells(values: npt.NDArray[np.float64], n: int) -> list[int]:
    """Which of n equal parts of their range each value lies in."""
    low, high = float(values.min()), float(values.max())
    places: list[int] = ((values - low) / max(high - low, 1e-9) * n).astype(int).tolist()
    return places
