"""Latency against the processor it costs: what polling buys, and what sleeping saves."""

from statistics import median

from taut.analysis.load import load_of, rate_words
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


class LatencyAgainstCpu:
    """Latency over the share of a core that the device took, at each rate."""

    id = "cpu"
    question = "What does each device's latency cost in processor time?"
    reading = (
        "Down and to the left is better. Each mark is one rate, from the smallest on; the share is "
        "the median of the repetitions: of the device's process, and what its core burnt polling "
        "in idle. Of a device that is the kernel it is all that its core did. Percentiles without "
        "support are left out."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One line a device and percentile; nothing where devices take the same at every rate."""
        devices = [device for device in scene.all_devices if _same_traffic(device, scene)]
        rows = [row for device in devices for row in _points(device)]
        shares = [float(row["cpu_percent"]) for row in rows]
        if not rows or max(shares) < 2 * min(shares):
            return None
        labels = list(dict.fromkeys(str(row["device"]) for row in rows))
        least = min(float(row["latency_us"]) for row in rows)
        most = max(float(row["latency_us"]) for row in rows)
        base = alt.Chart(column_data(rows)).encode(
            x=alt.X(
                "cpu_percent:Q",
                scale=alt.Scale(domain=[0, max(100.0, *shares)], nice=True),
                axis=alt.Axis(title="processor used (% of a core)"),
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
                alt.Tooltip("cpu_percent:Q", format=".1f", title="processor (%)"),
            ],
        )
        dash = alt.StrokeDash(
            "percentile:N",
            scale=alt.Scale(domain=list(_SHOWN), range=[[1, 0], [7, 3]]),
            legend=alt.Legend(symbolType="stroke", symbolSize=300),
        )
        lines = base.mark_line(strokeWidth=2).encode(strokeDash=dash, order=alt.Order("rate_pps:Q"))
        return layered(lines, base.mark_point(filled=True, size=40, opacity=1), height=340)


def _same_traffic(device: Device, scene: Scene) -> bool:
    """Whether only the rate is another one."""
    return load_of(device.row)._replace(asked_pps=scene.load.asked_pps) == scene.load


def cpu_share(device: Device) -> float | None:
    """Give the median of its repetitions; None: unknown of one of them."""
    shares = [trial.device_use.cpu_share if trial.device_use else None for trial in device.trials]
    known = [share for share in shares if share is not None]
    return median(known) if known and len(known) == len(shares) else None


def _points(device: Device) -> list[Mark]:
    share, row = cpu_share(device), device.row
    return [
        {
            "device": device.label,
            "rate": rate_words(row.load.asked_pps),
            "rate_pps": row.load.asked_pps or 0.0,
            "percentile": name,
            "latency_us": value / 1e3,
            "cpu_percent": 100 * share,
        }
        for name in _SHOWN
        if share is not None
        and (value := row.latency.percentiles_ns[name]) is not None
        and name not in row.doubt.unsupported_percentiles
    ]
