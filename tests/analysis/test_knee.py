import pytest

from made_documents import made_variant
from taut.analysis.knee import find_knee


def row(pps, p50=1000, loss=0.0, achieved=1.0):
    return made_variant(
        offered_pps=pps,
        achieved_pps=pps * achieved,
        loss_ratio=loss,
        latency_ns={"p50": p50},
    )


@pytest.mark.parametrize(
    ("over", "why"),
    [
        (row(300, loss=0.002), "lost"),
        (row(300, achieved=0.99), "achieved"),
        (row(300, p50=10_001), "median"),
    ],
)
def test_knee_is_the_first_overloaded_rate_and_says_why(over, why):
    found = find_knee([row(400, loss=0.5), over, row(100), row(200)])

    assert found[0] is over
    assert why in found[1]


def test_no_knee_below_capacity():
    assert find_knee([row(100), row(200, loss=0.001, achieved=0.999, p50=10_000)]) is None
    assert find_knee([]) is None
