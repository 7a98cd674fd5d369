"""Every repetition on its own: what pooling would hide."""

from typing import Any

from taut.report.chart import Chart, alt, column_data, layered, time_axis, time_scale
from taut.report.scene import Scene

_SHOWN = ("p50", "p99", "p99.9", "max")


class Repetitions:
    """Repetitions side by side."""

    id = "repetitions"
    question = "Do repetitions of the same trial agree?"
    reading = (
        "One row a repetition. Marks far apart within a device mean that its pooled numbers hide "
        "two bands. A maximum always has no packet above it."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One mark a percentile, one row a repetition."""
        rows = _rows(scene)
        names = list(dict.fromkeys(str(row["trial"]) for row in rows))
        if not any(len(device.trials) > 1 for device in scene.devices):
            return None
        labels = [device.label for device in scene.devices]
        domain, colours = scene.colour_scale(labels)
        least = min(float(r["latency_us"]) for r in rows)
        most = max(float(r["latency_us"]) for r in rows)
        base = alt.Chart(column_data(rows)).encode(
            y=alt.Y("trial:N", sort=names, axis=alt.Axis(title=None, labelLimit=170, grid=True)),
            color=alt.Color("device:N", scale=alt.Scale(domain=domain, range=colours), legend=None),
        )
        x = alt.X(
            "latency_us:Q",
            scale=time_scale(least, most, 0.8, 1.3),
            axis=time_axis("service latency", least, most),
        )
        points = base.mark_point(filled=True, size=64, opacity=0.95).encode(
            x=x,
            shape=alt.Shape(
                "percentile:N",
                scale=alt.Scale(
                    domain=list(_SHOWN), range=["circle", "square", "triangle-up", "diamond"]
                ),
            ),
            tooltip=[
                alt.Tooltip("trial:N"),
                alt.Tooltip("percentile:N"),
                alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
            ],
        )
        line = base.mark_line(strokeWidth=1, opacity=0.5).encode(x=x, detail="trial:N")
        return layered(line, points, height=19 * len(names))


def _rows(scene: Scene) -> list[dict[str, Any]]:
    return [
        {
            "device": device.label,
            "trial": f"{device.label} #{trial['repetition']}",
            "percentile": name,
            "latency_us": trial["latency_ns"][name] / 1e3,
        }
        for device in scene.devices
        for trial in device.trials
        for name in _SHOWN
        if trial["latency_ns"][name] is not None and name not in trial["unsupported_percentiles"]
    ]
