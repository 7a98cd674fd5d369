"""The rows of a Parquet file in batches, in memory that does not follow the file's length."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints
from taut.records import parquet


def read_batches(
    path: Path,
    columns: Sequence[str],
    n: int,
    dictionaries: Sequence[str] = (),
    groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read some columns, at most `n` rows at a time; no batch holds rows of two row groups.

    One reading of all row groups keeps what it has read of each until it ends: the whole file.
    `groups`: only these row groups.
    """
    with parquet.opened(path, read_dictionary=list(dictionaries)) as file:
        for group in range(file.num_row_groups) if groups is None else groups:
            yield from file.iter_batches(n, row_groups=[group], columns=list(columns))


def read_bounds(path: Path, columns: Sequence[str]) -> tuple[Ints, Ints]:
    """Give the least and the greatest value that is in any of some columns, by row group.

    Of a row group that does not tell them, they may be any.
    """
    file = parquet.read_metadata(path)
    at = [file.schema.to_arrow_schema().get_field_index(name) for name in columns]
    bounds = []
    for number in range(file.num_row_groups):
        group = file.row_group(number)
        told = [group.column(column).statistics for column in at]
        known = all(one is not None and one.has_min_max for one in told)
        least = min(one.min for one in told) if known else BEFORE_ALL
        most = max(one.max for one in told) if known else AFTER_ALL
        bounds.append((least, most))
    least_of, most_of = np.array(bounds, np.int64).reshape(-1, 2).T
    return least_of, most_of
