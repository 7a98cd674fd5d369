"""Reordering after RFC 4737, held to its own examples and definitions."""

import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_rows import extras, row, write_rows
from taut.analysis.reordering import Reordering, read_reordering
from taut.records.layout import PacketFlag

LOST = st.sets(st.integers(0, 11))


def reordering_of(arrived, batch_rows=1000):
    with TemporaryDirectory() as folder:
        rows = [row(seq, seq, 100 + n) for n, seq in enumerate(arrived)]
        return read_reordering(write_rows(Path(folder), rows), batch_rows)


@pytest.mark.parametrize(
    ("arrived", "found"),
    [
        ([], Reordering(0, None, ())),
        ([1, 2, 3, 4], Reordering(0, None, ())),
        # 5.3: 4, 5 and 6 are reordered, but only 4 is n-reordered, with n = 3.
        ([1, 2, 3, 7, 8, 9, 4, 5, 6], Reordering(3, 5, (1, 1, 1))),
        # 7.1: packet 4 comes behind 5 to 8.
        ([1, 2, 3, 5, 6, 7, 8, 4, 9, 10], Reordering(1, 4, (1, 1, 1, 1))),
        # 7.2: two in a row, 5 and 6, behind 7.
        ([1, 2, 3, 4, 7, 5, 6, 8, 9, 10], Reordering(2, 2, (1,))),
        # A loss is no reordering.
        ([1, 2, 5, 6], Reordering(0, None, ())),
    ],
)
def test_the_examples_come_out(arrived, found):
    assert reordering_of(arrived) == found


@given(st.permutations(range(12)), LOST)
def test_it_is_what_the_definitions_say(sent, lost):
    order = [seq for seq in sent if seq not in lost]
    late = [i for i in range(len(order)) if any(order[j] > order[i] for j in range(i))]
    extents = [i - min(j for j in range(i) if order[j] > order[i]) for i in late]
    by_n = [
        sum(all(order[j] > order[i] for j in range(i - n, i)) for i in range(n, len(order)))
        for n in range(1, 12)
    ]

    found = reordering_of(order)

    assert found.n_reordered == len(late)
    assert found.longest_extent == max(extents, default=None)
    assert list(found.n_by_n) == [n for n in by_n if n]


@given(st.permutations(range(12)), LOST, st.integers(1, 12))
def test_batch_by_batch_it_is_the_same(order, lost, batch_rows):
    arrived = [seq for seq in order if seq not in lost]

    assert reordering_of(arrived, batch_rows) == reordering_of(arrived)


def test_it_takes_no_more_memory_for_more_packets(tmp_path):
    n, pair = 1 << 19, [5_001, 5_000]
    seq = np.arange(n)
    seq[5_000:5_002] = pair
    zeros = np.zeros(n, np.int64)
    columns = {"seq": seq, "direction": zeros, "received_ns": seq, "flags": zeros}
    pq.write_table(pa.table(columns), tmp_path / "packets.parquet", row_group_size=1 << 14)

    tracemalloc.start()
    found = read_reordering(tmp_path / "packets.parquet", batch_rows=1 << 14)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == Reordering(1, 1, (1,))
    assert most_bytes < 8 * n


def test_directions_are_apart_and_the_warm_up_is_left_out(tmp_path):
    order = [2, 1, 3, 6, 4, 5]
    rows = [row(seq, seq, 100 + n) for n, seq in enumerate(order)]
    rows += [row(seq, seq, 100 + n, direction=1) for n, seq in enumerate([1, 3, 2])]
    rows[0]["flags"] = int(PacketFlag.COLD)

    assert read_reordering(write_rows(tmp_path, rows)) == Reordering(3, 2, (2,))


def test_further_records_of_packets_are_no_arrivals(tmp_path):
    rows = [row(seq, seq, 100 + n) for n, seq in enumerate([1, 3, 2, 4, 5])]
    received = [one for each in rows for one in (each, *extras(each, each["received_ns"]))]

    assert read_reordering(write_rows(tmp_path, received)) == Reordering(1, 1, (1,))
