"""The load as it came back: what the device made of the distances between packets."""

from taut.report.binned import draw_bins
from taut.report.chart import Chart
from taut.report.scene import Scene


class InterArrival:
    """Share of receipts by their distance."""

    id = "inter_arrival"
    question = "At what distances did the packets come back?"
    reading = (
        "Time between two successive receipts. The dashed line is the mean the schedule asks for; "
        "of captures it is that of the ingress file. A device that holds packets back and sends "
        "them together moves them to the left of it."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One step line a device."""
        return draw_bins(scene, "inter_arrival", "time between receipts", scene.asked_interval_us)
