import numpy as np
import pytest

from taut.report.figures.percentiles import _curve
from taut.report.nines import EVERY_SLOWEST, plotted_ranks


@pytest.mark.parametrize("total", [1, 2, 11, 1000, 10_000_000])
def test_first_last_and_all_slowest_ranks_are_drawn(total):
    ranks = plotted_ranks(total)

    assert ranks[0] == 1
    assert ranks[-1] == total
    assert set(range(max(1, total - EVERY_SLOWEST + 1), total + 1)) <= set(ranks.tolist())
    assert len(ranks) < 700


def test_curve_is_exact_and_breaks_where_support_ends():
    values = np.arange(1, 101) * 1000

    points = list(_curve("eager", values, np.ones(100, np.int64), "solid", "dashed"))

    solid = [p for p in points if p["part"] == "solid"]
    dashed = [p for p in points if p["part"] == "dashed"]
    assert solid[-1]["latency_us"] == 90  # ten packets above
    assert dashed[0]["latency_us"] == 90  # the dashed part starts there
    assert dashed[-1] == {"device": "eager", "one_in": 100, "latency_us": 100, "part": "dashed"}
    for point in points:
        slower_or_equal = 101 - point["latency_us"]
        assert point["one_in"] == pytest.approx(100 / slower_or_equal)


def test_few_packets_are_all_without_support():
    points = list(_curve("x", np.array([5]), np.array([3]), "solid", "dashed"))

    assert {p["part"] for p in points} == {"dashed"}
