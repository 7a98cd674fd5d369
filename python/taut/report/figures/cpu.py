"""Latency against the processor it costs: what polling buys, and what sleeping saves."""

from statistics import median

from taut.report.chart import Chart
from taut.report.latency_cost import Cost, draw_cost
from taut.report.scene import Device, Scene


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
        return draw_cost(scene, _SHARE)


def cpu_share(device: Device) -> float | None:
    """Give the median of its repetitions; None: unknown of one of them."""
    shares = [trial.device_use.cpu_share if trial.device_use else None for trial in device.trials]
    known = [share for share in shares if share is not None]
    return median(known) if known and len(known) == len(shares) else None


def _percent(device: Device) -> float | None:
    share = cpu_share(device)
    return None if share is None else 100 * share


_SHARE = Cost(
    "cpu_percent",
    "processor used (% of a core)",
    "processor (%)",
    axis_to=100,
    differs_by=2,
    of=_percent,
)
