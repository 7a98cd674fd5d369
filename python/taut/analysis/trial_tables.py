"""Tables that analysis leaves in a trial's folder: written whole, read in little memory."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.analysis.distribution import SCHEMA, select_metric
from taut.analysis.freed import give_back
from taut.core.files import whole
from taut.records import parquet

DISTRIBUTION = "distribution.parquet"

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
            # Dictionaries of distinct values took 40 MiB and made the file twice as long.
            use_dictionary=[field.name for field in rows.schema if not _is_number(field)],
            # Names by number are our own way: whoever reads the file finds them as text.
            store_schema=False,
        )
    give_back()  # what encoding took is more than the table


def _is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


class Distributions:
    """The distributions of a trial: a metric of many rows at a time, few rows all at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        is_small = parquet.read_metadata(path).num_rows <= _ROW_GROUP
        self._rows = read_distributions(path) if is_small else None
        self._last: tuple[str, pa.Table] | None = None

    def of(self, metric: str) -> pa.Table:
        """Give the rows of a metric; those asked for last are kept."""
        if self._rows is not None:
            return select_metric(self._rows, metric)
        if self._last is None or self._last[0] != metric:
            self._last = None
            self._last = metric, read_distributions(self._path, metric)
        return self._last[1]


def read_distributions(path: Path, metric: str | None = None) -> pa.Table:
    """Read those of one metric, or of all, the names of metrics by number."""
    # A name a row takes twice as long to read as all the rest; threads hold a row group each.
    with parquet.opened(path, read_dictionary=["metric"], pre_buffer=False) as file:
        groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
        wanted = [number for number, group in enumerate(groups) if _may_hold(group, metric)]
        found = file.read_row_groups(wanted, use_threads=False)
    give_back()  # what decoding took is more than the table
    return found if metric is None else select_metric(found, metric)


def _may_hold(group: pq.RowGroupMetaData, metric: str | None) -> bool:
    names = group.column(SCHEMA.get_field_index("metric")).statistics
    return metric is None or names is None or names.min <= metric <= names.max
