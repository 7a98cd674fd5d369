"""Tables that analysis leaves in a trial's folder: written whole, read in little memory."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.files import whole

_ROW_GROUP = 1 << 17
"""Rows that are encoded, and later decoded, at a time."""


def write_or_remove(path: Path, rows: pa.Table | None) -> None:
    """Write a table; None: remove what an earlier analysis left there."""
    if rows is None:
        path.unlink(missing_ok=True)
        return
    with whole(path) as temporary:
        pq.write_table(
            rows.unify_dictionaries(),
            temporary,
            compression="zstd",
            row_group_size=_ROW_GROUP,
            # Names by number are our own way: whoever reads the file finds them as text.
            store_schema=False,
        )
    pa.default_memory_pool().release_unused()  # what encoding took is more than the table


def read_by_metric(path: Path) -> pa.Table:
    """Read distributions, the names of their metrics by number."""
    # A name a row takes twice as long to read as all the rest.
    found = pq.read_table(path, read_dictionary=["metric"])
    pa.default_memory_pool().release_unused()  # what decoding took is more than the table
    return found
