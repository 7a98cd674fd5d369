import pytest

from taut.report import cells


def row(**changes):
    return {
        "latency_ns": {"p99.9": 5_000},
        "unsupported_percentiles": [],
        "n_above": {"p99.9": 100},
        "latency_without_void_ns": {"n": 100_000, "p99.9": 4_000},
        "lost": 0,
        "sent": 100_000,
        "unsent": 0,
        "void_share": 0.0,
        "instrument_limited": False,
        "two_bands": False,
        "rate_ok": True,
        "sums_reconcile": True,
        "achieved_pps": 99_000.0,
        "offered_pps": 100_000.0,
        "p50_of_repetitions": [900, 1_500],
    } | changes


def test_supported_percentile_is_plain_and_unsupported_says_how_many_are_above():
    assert cells.percentile(row(), "p99.9") == cells.Cell("5 µs")

    unsupported = row(unsupported_percentiles=["p99.9"], n_above={"p99.9": 3})

    assert cells.percentile(unsupported, "p99.9") == cells.Cell("5 µs*", True, note="n above: 3")


@pytest.mark.parametrize(("n", "dim"), [(10_000, False), (9_999, True)])
def test_without_void_is_judged_by_its_own_packets(n, dim):
    cell = cells.without_void(row(latency_without_void_ns={"n": n, "p99.9": 4_000}))

    assert cell.dim is dim


def test_all_void_leaves_nothing():
    cell = cells.without_void(row(latency_without_void_ns={"n": 0, "p99.9": None}))

    assert (cell.text, cell.dim) == ("–", False)


def test_loss_is_a_count_and_a_share():
    assert cells.lost(row(lost=12, unsent=3)) == cells.Cell(
        "12 (0.012 %)", alert=True, note="3 unsent"
    )
    assert cells.lost(row()) == cells.Cell("0")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instrument_limited": True}, "instrument-limited"),
        ({"two_bands": True}, "900 ns, 1.50 µs"),
        ({"rate_ok": False}, "99 % of what was offered"),
        ({"sums_reconcile": False}, "reconcile"),
    ],
)
def test_each_weakness_is_flagged(change, said):
    assert cells.flags(row()) == []
    assert said in cells.flags(row(**change))[0]
