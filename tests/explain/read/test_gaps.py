import numpy as np
import pyarrow.parquet as pq
import pytest

from made_trace import gap_rows
from taut.explain.read import gaps
from taut.explain.read.gaps import Explainable, Handled, Rest, read_gaps

NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))


def stretches(*rows):
    start, end = zip(*rows, strict=True)
    return np.array(start, np.int64), np.array(end, np.int64)


def write(tmp_path, *rows):
    path = tmp_path / "gaps.parquet"
    pq.write_table(gap_rows(*rows), path)
    return path


def starts(found, *threads):
    """Give the starts of threads' gaps, each thread's as they are read."""
    tables = [table for thread in threads for table in found.of(thread)]
    return [start for table in tables for start in table["start_ns"].to_pylist()]


def test_without_anything_skipped_every_gap_is_worth_a_look(tmp_path):
    path = write(tmp_path, (0, 10, "generator"), (20, 30, "forwarder"))

    found = read_gaps(path, Explainable(NOTHING, NOTHING, 0))

    assert (starts(found, "generator", "forwarder"), found.rest) == ([0, 20], ())
    assert found.n == {"generator": 1, "forwarder": 1}


@pytest.mark.parametrize("batch", [1, 2, 1 << 18])
def test_of_a_tail_trace_those_kept_those_met_and_the_longest(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(gaps, "_BATCH", batch)
    rows = [(t, t + 10, "forwarder") for t in range(0, 1_000, 100)]
    rows += [(550, 560, "generator"), (650, 690, "generator")]
    explainable = Explainable(stretches((205, 1_000)), stretches((305, 306)), 1)

    found = read_gaps(write(tmp_path, *rows), explainable)

    # 200 is half in the dark, 300 was met, 650 is the longest of the others.
    assert starts(found, "forwarder", "generator") == [0, 100, 300, 650]
    assert found.n == {"forwarder": 3, "generator": 1}
    assert found.rest == (Rest("forwarder", 7, 70, 10), Rest("generator", 1, 10, 40))


def test_what_a_packet_takes_in_a_gap_is_of_all_gaps_of_the_device(tmp_path):
    rows = [(0, 100, "forwarder", 10), (200, 500, "forwarder", 10), (600, 640, "forwarder", 2)]
    rows += [(700, 900, "forwarder", 0), (0, 900, "generator", 50)]

    found = read_gaps(write(tmp_path, *rows), Explainable(stretches((0, 1_000)), NOTHING, 0))

    assert found.handled == {"forwarder": Handled(22, 20, 10), "generator": Handled(50, 18, 18)}


def test_no_file_is_no_gaps(tmp_path):
    found = read_gaps(tmp_path / "gaps.parquet", Explainable(NOTHING, NOTHING, 5))

    assert (starts(found, "generator"), found.rest, found.handled) == ([], (), {})


@pytest.mark.parametrize("batch", [1, 2, 1 << 18])
def test_a_log_that_is_not_in_the_order_of_time_is_put_in_order(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(gaps, "_BATCH", batch)
    rows = [(t, t + 5, "forwarder") for t in (40, 60, 50, 20)] + [(10, 15, "generator")]

    found = read_gaps(write(tmp_path, *rows), Explainable(NOTHING, NOTHING, 0))

    assert starts(found, "forwarder", "generator") == [20, 40, 50, 60, 10]
    assert found.disordered == {"forwarder"}


def test_of_a_thread_without_a_gap_to_judge_the_order_of_its_log_says_nothing(tmp_path):
    rows = [(40, 45, "forwarder"), (20, 25, "forwarder"), (10, 15, "generator")]

    found = read_gaps(write(tmp_path, *rows), Explainable(stretches((0, 1_000)), NOTHING, 0))

    assert found.disordered == {"forwarder"}
    assert starts(found, "forwarder") == []
