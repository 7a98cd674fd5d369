"""Every repetition on its own: what pooling would hide."""

from taut.core.percentiles import SUPPORT
from taut.records.documents.results import TrialResult
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    colour_scale,
    column_data,
    layered,
    time_axis,
    time_scale,
)
from taut.report.scene import Device, Scene

_SHOWN = ("p50", "p99", "p99.9", "max")
_NUMBER = "indexof(datum.label, ' #') < 0 ? '' : peek(split(datum.label, ' #'))"


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
        names = [
            name
            for device in scene.devices
            for name in (device.label, *(_name(device, trial) for trial in device.trials))
        ]
        if not any(len(device.trials) > 1 for device in scene.devices):
            return None
        labels = [device.label for device in scene.devices]
        least = min(float(r["latency_us"]) for r in rows)
        most = max(float(r["latency_us"]) for r in rows)
        # A device's name has a row to itself, and all of its width.
        y = alt.Y(
            "trial:N",
            scale=alt.Scale(domain=names),
            axis=alt.Axis(title="repetition", labelExpr=_NUMBER, grid=True),
        )
        colour = colour_scale(scene.colours_of(labels))
        base = alt.Chart(column_data(rows)).encode(
            y=y, color=alt.Color("device:N", scale=colour, legend=None)
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
        line = base.mark_line(strokeWidth=1, opacity=0.5).encode(x=x, detail=alt.Detail("trial:N"))
        heads = alt.Chart(alt.InlineData(values=[{"trial": label} for label in labels]))
        words = heads.mark_text(align="left", fontWeight="bold").encode(
            x=alt.value(4), y=y, text=alt.Text("trial:N")
        )
        return layered(line, points, words, height=19 * len(names))


def _name(device: Device, trial: TrialResult) -> str:
    return f"{device.label} #{trial.repetition}"


def _rows(scene: Scene) -> list[Mark]:
    return [
        {
            "device": device.label,
            "trial": _name(device, trial),
            "percentile": name,
            "latency_us": value / 1e3,
        }
        for device in scene.devices
        for trial in device.trials
        for name in _SHOWN
        if (value := trial.latency().value_ns(name)) is not None
        and (name == "max" or trial.measured.doubt.n_above[name] >= SUPPORT)
    ]
