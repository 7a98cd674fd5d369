"""The rows of a Parquet file in batches, in memory that does not follow the file's length."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_batches(
    path: Path, columns: Sequence[str], n: int, dictionaries: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Read some columns, at most `n` rows at a time; no batch holds rows of two row groups.

    One reading of all row groups keeps what it has read of each until it ends: the whole file.
    """
    with pq.ParquetFile(path, read_dictionary=list(dictionaries)) as file:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(n, row_groups=[group], columns=list(columns))
