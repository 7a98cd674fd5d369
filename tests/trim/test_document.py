"""What a trim says of itself: in one sentence, and of the causes before and after."""

from math import inf

import pytest

from made_documents import made_explanation, made_result
from taut.analysis.paired import paired_ratio
from taut.records.documents.results import TrialResult
from taut.records.documents.trim import TrimDocument
from taut.trim.bench import Repetition
from taut.trim.document import cells_of, sentence, with_causes
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


def test_figures_of_repetitions_stay_in_pairs_where_one_is_lost_or_missing():
    found = [{"eager": 10.0}, {"eager": inf}, {"eager": 12.0}, {"eager": 14.0}]
    trimmed = [{"eager": 1.0}, {"eager": 2.0}, {}, {"eager": 3.0}]
    pairs = enumerate(zip(found, trimmed, strict=True))

    [cell] = cells_of([Repetition(n, {"a": a, "b": b}) for n, (a, b) in pairs], "a", "b")

    assert (cell.before_of_repetitions, cell.before) == ((10, None, 12, 14), 13)
    assert (cell.after_of_repetitions, cell.after) == ((1, 2, None, 3), 2)


def traced(host: str, n: int, late: dict[str, tuple[int, int]], **of: object) -> TrialResult:
    """A trial of n packets, of which each cause made so many late, for so many ns."""
    causes = [
        {
            "cause": cause,
            "title": cause,
            "n_episodes": 1,
            "n_packets": n_packets,
            "total_ns": total_ns,
            "worst_ns": total_ns,
            "tail_share": 0.5,
            "n_by_grade": {"A": n_packets},
            "ask": "",
        }
        for cause, (n_packets, total_ns) in late.items()
    ]
    explanation = made_explanation(causes=causes)
    return made_result(host=host, latency_ns={"n": n}, explanation=explanation, **of)


def test_causes_are_set_side_by_side_by_what_they_did_to_a_million_packets():
    results = [
        traced("as found", 10_000, {"timer": (30, 5_000), "preemption": (10, 900_000)}),
        traced("as found", 40_000, {"timer": (40, 45_000)}),
        traced("trimmed", 50_000, {"timer": (50, 20_000)}),
        traced("trimmed", 50_000, {}),
        # A floor is no device, and an untraced trial has nothing to say.
        traced("as found", 10_000, {"smi": (90, 9_000)}, driver="loopback"),
        made_result(host="trimmed"),
    ]

    found = with_causes(document(), results).causes

    assert [(c.cause, c.title) for c in found] == [
        ("preemption", "another thread ran"),
        ("timer", "a timer interrupt"),
    ]
    assert [(c.before, c.after) for c in found] == [(0.125, 0.0), (0.875, 1.0)]
    assert [(c.late_ns_before, c.late_ns_after) for c in found] == [
        (18_000_000.0, 0.0),
        (1_000_000.0, 200_000.0),
    ]


def test_without_a_traced_trial_of_the_host_trimmed_nothing_is_said_of_it():
    [cause] = with_causes(document(), [traced("as found", 1_000, {"timer": (1, 10)})]).causes

    assert (cause.before, cause.after, cause.late_ns_after) == (1.0, None, None)


def test_without_a_traced_trial_of_the_host_as_found_the_causes_stay_as_they_are():
    assert with_causes(document(), [traced("trimmed", 1_000, {"timer": (1, 10)})]) == document()


def document() -> TrimDocument:
    return TrimDocument(
        target="p99",
        figure="p99 of service latency",
        method="",
        cores="",
        took_s=1.0,
        verdict="",
        sentence="",
        effect=None,
        effect_with_void=None,
        cells=(),
        causes=(),
        remedies=(),
        kept=(),
        confirmed=None,
        in_force=False,
        notes=(),
    )
