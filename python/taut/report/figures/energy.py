"""Latency against the power it costs, where the processor's counters can be read."""

from taut.report.chart import Chart
from taut.report.energy import packages_w
from taut.report.latency_cost import Cost, draw_cost
from taut.report.scene import Scene


class LatencyAgainstPower:
    """Latency over the power of the processor's packages, at each rate."""

    id = "energy"
    question = "What does each device's latency cost in energy?"
    reading = (
        "Down and to the left is better. Each mark is one rate, from the smallest on; the power is "
        "that of the processor's whole packages over a trial, the median of the repetitions: the "
        "generator, the device and whatever else ran. Only the distance between devices says "
        "something of them, and the floor what it takes without any. Percentiles without support "
        "are left out."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One line a device and percentile; nothing where it takes the same with all devices."""
        return draw_cost(scene, _POWER)


_POWER = Cost(
    "power_w",
    "power of the processor's packages (W)",
    "power (W)",
    axis_to=0,
    differs_by=1.02,
    of=packages_w,
)
