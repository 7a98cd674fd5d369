"""Rows of a Parquet file in batches: all of them, in order, and no more memory than a few take."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.explain.read.batches import read_batches

N_GROUPS, GROUP = 64, 1 << 13


@pytest.fixture
def file(tmp_path):
    """Numbers that nothing compresses, in many row groups."""
    values = np.random.default_rng(1).integers(0, 1 << 62, N_GROUPS * GROUP)
    table = pa.table({"value": values, "other": values})
    pq.write_table(table, tmp_path / "file.parquet", row_group_size=GROUP, use_dictionary=False)
    return tmp_path / "file.parquet", values


def test_every_row_comes_once_and_in_order(file):
    path, values = file

    batches = list(read_batches(path, ["value"], 1_000))

    assert max(map(len, batches)) == 1_000
    assert {batch.schema.names[0] for batch in batches} == {"value"}
    np.testing.assert_array_equal(np.concatenate([b.column(0).to_numpy() for b in batches]), values)


def test_what_was_read_of_earlier_row_groups_is_let_go(file):
    path, values = file
    before = pa.total_allocated_bytes()

    most = max(pa.total_allocated_bytes() - before for _ in read_batches(path, ["value"], GROUP))

    assert most < values.nbytes / 8
