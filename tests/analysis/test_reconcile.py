import pytest

from taut.analysis.reconcile import failed_sums, total_counts
from taut.records.documents.generator import GeneratorResult

GOOD = {
    "due": 10,
    "sent": 9,
    "unsent": 1,
    "received": 11,
    "matched": 8,
    "lost": 1,
    "late": 1,
    "duplicates": 1,
    "orphans": 1,
    "out_of_sequence": 0,
    "void": 0,
}


def test_good_sums_say_nothing():
    assert failed_sums(GeneratorResult(GOOD, directions=(GOOD,)), {(0, False): GOOD}) == []


@pytest.mark.parametrize("name", ["due", "sent", "received", "matched", "lost", "unsent", "late"])
def test_one_packet_too_many_is_found(name):
    bad = GOOD | {name: GOOD[name] + 1}

    assert failed_sums(GeneratorResult(bad, directions=()), None)


def test_directions_must_add_up():
    other = dict.fromkeys(GOOD, 0) | {"void": 3}

    failures = failed_sums(
        GeneratorResult(
            GOOD,
            directions=(
                GOOD,
                other,
            ),
        ),
        None,
    )

    assert failures == ["void: 0 in total, 3 over the directions"]


def test_records_must_agree_with_the_counters():
    recorded = {(0, False): GOOD | {"lost": 0, "matched": 9}}

    failures = failed_sums(GeneratorResult(GOOD, directions=(GOOD,)), recorded)

    assert failures == [
        "matched: the generator counted 8, its records say 9",
        "lost: the generator counted 1, its records say 0",
    ]


def test_cold_is_apart():
    counts = {(0, False): {"due": 5}, (0, True): {"due": 2}, (1, False): {"due": 1}}

    assert total_counts(counts) == {"due": 8}
    assert total_counts(counts, cold=True) == {"due": 2}
    assert total_counts(counts, cold=False) == {"due": 6}
