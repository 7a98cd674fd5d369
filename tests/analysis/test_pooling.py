import pytest

from made_documents import made_result
from taut.analysis.pooling import has_two_bands


def repetition(p50, low, high):
    return made_result(latency_ns={"p50": p50}, confidence_intervals={"p50": [low, high]})


@pytest.mark.parametrize(
    ("repetitions", "expected"),
    [
        ([repetition(1000, 990, 1010), repetition(1300, 1290, 1310)], True),
        ([repetition(1000, 990, 1010), repetition(1150, 1140, 1160)], False),
        ([repetition(1000, 900, 1300), repetition(1300, 1250, 1400)], False),
        ([repetition(1000, 990, 1010)], False),
        ([repetition(None, None, None), repetition(1000, 990, 1010)], False),
    ],
)
def test_two_bands_need_20_percent_and_separate_intervals(repetitions, expected):
    assert has_two_bands(repetitions) is expected
