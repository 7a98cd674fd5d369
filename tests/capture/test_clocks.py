"""What the least latencies over time say of two clocks, and of a queue that fills."""

import pytest

from taut.analysis.capture_result import growth_words
from taut.capture.clocks import estimate_clocks
from taut.records.documents.match import Envelope

BIN_NS = 10_000_000


@pytest.mark.parametrize(
    ("slope", "is_beyond", "queue"),
    [
        (5e-5, False, "fills"),
        (-5e-5, False, "empties"),
        (1e-3, True, "fills"),
        (-1e-3, True, "empties"),
    ],
)
def test_a_queue_that_no_clock_explains_is_none(slope: float, is_beyond: bool, queue: str) -> None:
    bins = tuple((i * BIN_NS, 5_000 + round(slope * i * BIN_NS), 1) for i in range(100))

    clocks = estimate_clocks(Envelope(bins))

    assert clocks.drift_ppb == pytest.approx(1e9 * slope, rel=1e-3)
    assert clocks.is_drift_shown
    assert clocks.is_beyond_clocks is is_beyond
    words = growth_words(clocks)
    assert f"a queue that {queue}" in words
    assert ("--remove drift" in words) is not is_beyond
