"""What a trim says of itself in one sentence."""

import pytest

from taut.analysis.paired import paired_ratio
from taut.trim.bench import Repetition
from taut.trim.document import sentence
from taut.trim.trim import Compared, Trimmed

PAIRS = [Repetition(n, {"as found": {"eager": 2.0}, "trimmed": {"eager": 1.0}}) for n in range(7)]
UNUSABLE = [Repetition(n, {"as found": {"eager": 2.0}, "trimmed": {}}) for n in range(7)]


def of(log_ratios: list[float]) -> Compared:
    return Compared("as found", "trimmed", PAIRS, paired_ratio(log_ratios, 0.984))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Trimmed(), "Nothing to trim: no remedy"),
        (Trimmed(is_tried=True), "the budget ended before 7 pairs"),
        (
            Trimmed(is_tried=True, whole=Compared("as found", "trimmed", UNUSABLE, None)),
            "of 7 pairs of runs 0 are usable",
        ),
        (Trimmed(is_tried=True, whole=of([-1.0] * 7)), "makes the p99 2.72 times shorter"),
        (Trimmed(is_tried=True, whole=of([1.0] * 7)), "2.72 times longer"),
        (
            Trimmed(is_tried=True, whole=of([-3.0, 2.0, -1.0, 1.5, 0.5, -0.7, 0.2])),
            "No effect shown",
        ),
    ],
)
def test_the_sentence_says_what_was_shown_or_why_nothing_was(found: Trimmed, said: str):
    assert said in sentence(found, "p99")
