"""A table of a run, read when it is asked for: as Arrow, pandas or polars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from taut.core.errors import InputError, MissingToolError, telling
from taut.core.words import did_you_mean
from taut.records import parquet


@dataclass(frozen=True)
class Derived:
    """A column that no file has: what it is computed from, and how."""

    columns: Sequence[str]
    compute: Callable[[pa.Table], pa.ChunkedArray]


@dataclass(frozen=True, repr=False)
class Table:
    """Rows and columns, not read until one of the methods does.

    Whatever takes Arrow's C stream takes it as it is: `pyarrow.table(t)`, `polars.DataFrame(t)`.
    """

    name: str
    columns: tuple[str, ...]
    n_rows: int
    _read: Callable[[Sequence[str]], pa.Table] = field(compare=False)

    @telling()
    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read these columns, in this order; None: all. InputError: there is no such column."""
        wanted = list(self.columns if columns is None else columns)
        for column in wanted:
            if column not in self.columns:
                near = did_you_mean(column, self.columns)
                raise InputError(f"{self.name}: no column {column!r}{near}")
        return self._read(wanted)

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Read them as a pandas.DataFrame. MissingToolError: pandas is not installed."""
        _require("pandas")
        return self.to_arrow(columns).to_pandas()

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Read them as a polars.DataFrame. MissingToolError: polars is not installed."""
        _require("polars")
        return import_module("polars").from_arrow(self.to_arrow(columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give all columns to any library that takes Arrow's C stream."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Table({self.name}: {self.n_rows:,} rows; {', '.join(self.columns)})"


def table_of(name: str, rows: pa.Table) -> Table:
    """Make a table of what is in memory already."""
    return Table(name, tuple(rows.column_names), rows.num_rows, rows.select)


def parquet_table(
    path: Path, name: str, why_absent: str, derived: Mapping[str, Derived] | None = None
) -> Table:
    """Make a table of a Parquet file and of columns derived from it; nothing is read but its head.

    InputError: there is no such file, which `why_absent` explains, or it is damaged.
    """
    computed = derived or {}
    if not path.exists():
        raise InputError(f"{name}: there are none: {why_absent}")
    metadata = parquet.read_metadata(path)

    def read(columns: Sequence[str]) -> pa.Table:
        needed = [of for column in columns for of in _inputs(column, computed)]
        rows = parquet.read_table(path, columns=list(dict.fromkeys(needed)))
        for column in columns:
            if column in computed:
                rows = rows.append_column(column, computed[column].compute(rows))
        return rows.select(columns)

    return Table(
        name, (*metadata.schema.to_arrow_schema().names, *computed), metadata.num_rows, read
    )


def _inputs(column: str, derived: Mapping[str, Derived]) -> Sequence[str]:
    """Name the columns of the file that a column is made of."""
    return derived[column].columns if column in derived else [column]


def _require(library: str) -> None:
    try:
        import_module(library)
    except ImportError:
        raise MissingToolError(
            f"{library}: not installed, and taut itself needs none; `pip install {library}`, or "
            "take to_arrow()"
        ) from None
