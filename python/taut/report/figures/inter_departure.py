"""The load as it left: the instrument's own precision, before anything is said of a device."""

from taut.report.binned import draw_bins
from taut.report.chart import Chart
from taut.report.scene import Scene


class InterDeparture:
    """Share of departures by their distance."""

    id = "inter_departure"
    question = "At what distances did the packets leave?"
    reading = (
        "Time between two successive departures, measured. The dashed line is the mean the "
        "schedule asks for; of captures it is that of the ingress file. A constant schedule should "
        "be one spike on it."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One step line a device: each trial had its own departures."""
        return draw_bins(
            scene, "inter_departure", "time between departures", scene.asked_interval_us
        )
