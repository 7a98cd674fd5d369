import pytest

from made_documents import made_variant
from taut.report import cells


def row(**changes):
    document = {
        "latency_ns": {"p99.9": 5_000, "n_eff": {"p99.9": 20_000}},
        "unsupported_percentiles": [],
        "unsupported_percentiles_without_void": [],
        "n_above": {"p99.9": 100},
        "confidence_intervals": {"p99.9": [4_500, 6_000]},
        "blocks": {"n": 40, "n_above": {"p99.9": 12}},
        "latency_without_void_ns": {"n": 100_000, "p99.9": 4_000},
        "lost": 0,
        "loss_ratio_at_most": None,
        "sent": 100_000,
        "unsent": 0,
        "void_share": 0.0,
        "instrument_limited": False,
    }
    return made_variant(**document | changes)


def one_sided(**changes):
    known = {"confidence_intervals": {"p99.9": [4_500, None]}}
    return row(unsupported_percentiles=["p99.9"], **(known | changes))


def test_supported_percentile_is_plain_and_has_its_interval_as_a_note():
    cell = cells.percentile(row(), "p99.9")

    assert (cell.text, cell.dim) == ("5 µs", False)
    assert cell.note == "95 %: 4.50 µs to 6 µs, as 20,000 independent packets would say"


def test_a_percentile_decided_by_few_packets_says_how_many():
    cell = cells.percentile(one_sided(n_above={"p99.9": 3}), "p99.9")

    assert cell == cells.Cell("5 µs*", True, note="95 %: at least 4.50 µs; n above: 3")


def test_a_percentile_decided_by_few_stalls_says_what_it_is_at_least():
    few = {"n": 40, "n_above": {"p99.9": 3}}
    cell = cells.percentile(one_sided(blocks=few), "p99.9")

    assert (cell.text, cell.dim) == ("5 µs*", True)
    assert cell.note == "95 %: at least 4.50 µs; n above: 100, in 3 of 40 blocks of time"


def test_where_not_every_packet_was_recorded_the_note_says_what_the_interval_assumes():
    recorded = row(blocks=None, latency_ns={"p99.9": 5_000, "n_eff": None})

    assert "if packets were independent" in cells.percentile(recorded, "p99.9").note


@pytest.mark.parametrize("few", [[], ["p99.9"]])
def test_without_void_is_judged_by_its_own_packets(few):
    cell = cells.without_void(row(unsupported_percentiles_without_void=few))

    assert cell.dim is bool(few)


def test_all_void_leaves_nothing():
    cell = cells.without_void(row(latency_without_void_ns={"n": 0, "p99.9": None}))

    assert (cell.text, cell.dim) == ("–", False)


def test_loss_is_a_count_and_a_share():
    assert cells.lost(row(lost=12, unsent=3)) == cells.Cell(
        "12 (0.012 %)", alert=True, note="3 unsent"
    )
    assert cells.lost(row()) == cells.Cell("0")
    assert cells.lost(row(loss_ratio_at_most=3e-4)).note == "95 %: at most 0.03 %"
