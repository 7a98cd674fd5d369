"""Bins hold every packet once, whatever the range of times."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from taut.report.binned import LINEAR_BINS, bin_rows, draw_bins, edges_for
from taut.report.chart import as_spec, is_wide


@pytest.mark.parametrize(
    "values",
    [
        [3087, 3175, 3175, 4275],
        [900, 32_000, 1_000_000],
        [1, 5],
        [7],
        [-49_099, -48_000, -17_000],
        [-99, 0, 31_000],
        [10**3, 10**4, 10**5],
    ],
)
def test_every_packet_is_in_the_bin_that_holds_it(values):
    distinct, n = np.unique(values, return_counts=True)
    ends = int(distinct[0]), int(distinct[-1])
    edges = edges_for(*ends, wide=is_wide(*ends))

    rows = bin_rows("x", distinct, n, edges)

    assert sum(row["packets"] for row in rows) == len(values)
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    for low, high in pairwise(edges):
        inside = sum(low <= value < high for value in values)
        shown = [r["packets"] for r in rows if r["from_us"] == pytest.approx(low / 1e3, rel=1e-12)]
        assert sum(shown) == inside
    assert rows[0]["packets"] == rows[-1]["packets"] == 0


def test_a_narrow_range_has_bins_of_a_round_width():
    edges = edges_for(3087, 4275, wide=False)

    assert set(np.diff(edges)) == {50.0}
    assert LINEAR_BINS / 2 <= len(edges) - 2 <= LINEAR_BINS


@pytest.mark.parametrize(
    ("least", "greatest", "wide"),
    [(3.1, 4.3, False), (0.9, 32.0, True), (-1.0, 900.0, False), (0.0, 10.0, False)],
)
def test_only_times_above_zero_over_a_decade_want_a_log_axis(least, greatest, wide):
    assert is_wide(least, greatest) is wide


def drawn(values, mark_us=None):
    """Give the scale of times in a chart of these, and where its bins begin."""
    counted = np.array(values), np.ones(len(values), np.int64)
    device = SimpleNamespace(label="x", counts=lambda _: counted)
    scene = SimpleNamespace(devices=[device], colours_of=lambda labels: dict.fromkeys(labels, "@i"))
    spec = as_spec(draw_bins(scene, "latency", "latency", mark_us))
    [rows, *_] = [data for data in spec["datasets"].values() if isinstance(data, str)]
    line = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "line")
    begins = [float(row.split(",")[1]) for row in rows.splitlines()[1:]]
    return line["encoding"]["x"]["scale"]["type"], begins


@pytest.mark.parametrize(
    ("values", "mark_us", "scale"),
    [
        ([950, 9_300], None, "linear"),
        ([900, 9_300], None, "log"),
        ([0, 9_300], None, "log"),
        ([-5, 9_300], None, "linear"),
        ([100, 990], 100.0, "log"),
    ],
)
def test_bins_on_a_log_axis_all_have_a_place_there(values, mark_us, scale):
    kind, begins = drawn(values, mark_us)

    assert kind == scale
    assert kind == "linear" or min(begins) > 0
