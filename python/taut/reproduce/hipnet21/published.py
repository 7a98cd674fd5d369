"""What hipnet21's authors published, and rows of a run by their rates."""

from collections.abc import Mapping

from taut.records.documents.results import Variant
from taut.reproduce.experiment import Variants

PAPER = "HiPNet 2021"
FIGURES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")

PUBLISHED_NAME = "dpdk-l2fwd-hw"
"""What the captures of the table are called."""

PUBLISHED_NS: Mapping[int, tuple[int, ...]] = {
    10_000: (3175, 3213, 3350, 3400, 4100, 4250, 4275, 4275),
    20_000: (3162, 3199, 3337, 3375, 4037, 4112, 4237, 4237),
    30_000: (3162, 3200, 3325, 3363, 4037, 4088, 4238, 4238),
    40_000: (3162, 3199, 3337, 3375, 3425, 4087, 4175, 4212),
    50_000: (3162, 3200, 3338, 3375, 3413, 4050, 4213, 4275),
    60_000: (3162, 3199, 3337, 3375, 3400, 4062, 4212, 4224),
    70_000: (3137, 3175, 3325, 3375, 3400, 4038, 4100, 4137),
    80_000: (3137, 3187, 3337, 3387, 3424, 4075, 4250, 4275),
    90_000: (3137, 3187, 3312, 3362, 3399, 4025, 4187, 4212),
    100_000: (3138, 3175, 3313, 3350, 3375, 4025, 4075, 4175),
    110_000: (3125, 3162, 3300, 3337, 3362, 3999, 4037, 4062),
    120_000: (3124, 3162, 3300, 3337, 3362, 3999, 4112, 4237),
}
"""FIGURES at each rate: bare metal, nohz_full, the first second left out."""

PUBLISHED_PACKETS = {pps: 30 * pps for pps in PUBLISHED_NS} | {110_000: 3_251_664}
"""Packets in the file before the device, and as many in the one after it, by rate."""

LEVELS_US = {"p50": 3.2, "p99.9": 3.4, "p99.99": 4.1}
"""Where the paper's percentile plot at 10 kpkt/s has its steps."""

FRAME = 104
"""Their frames are 100 B in the captures, which leave out the FCS."""


def rate_of(row: Variant) -> float:
    """Give the rate that was asked for; 0 where captures do not say."""
    return row.load.asked_pps or 0.0


def by_rate(rows: Variants) -> Variants:
    """Sort rows by their rates."""
    return sorted(rows, key=rate_of)


def published_at(pps: float) -> tuple[int, ...] | None:
    """Packets and figures of the published table at this rate; None: it has none."""
    key = round(pps)
    return (PUBLISHED_PACKETS[key], *PUBLISHED_NS[key]) if key in PUBLISHED_NS else None


def whole_sent(row: Variant) -> int:
    """Count the packets of a whole capture, as the paper does: its first second, too."""
    return row.sent + (row.warm_up.sent or 0)
