"""Where the packets lie: one band or several, and how far apart."""

from taut.report.binned import BINS_PER_DECADE, draw_bins
from taut.report.chart import Chart
from taut.report.scene import Scene


class Histogram:
    """Share of packets by latency."""

    id = "histogram"
    question = "Is there one typical latency, or are there several?"
    reading = (
        f"Share of packets in bins of equal ratio ({BINS_PER_DECADE} a decade), or of equal width "
        "where all lie within a decade. The axis of shares is logarithmic: a single packet shows "
        "as the lowest step."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One step line a device."""
        return draw_bins(scene, "latency", "service latency")
