"""DuckDB, in process: reads Parquet where it lies, so memory does not grow with the run.

This is the only file that imports duckdb.
"""

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from taut.core.errors import InputError
from taut.testbed.scratch import Scratch

# Sorting a chunk of records needs a few hundred megabytes; above this DuckDB spills to disk.
MEMORY_LIMIT = "2GB"


def _quoted(text: str) -> str:
    """Write a string constant of SQL."""
    return "'" + text.replace("'", "''") + "'"


class DuckdbEngine:
    """A database in memory, with a temporary folder for what does not fit."""

    def __init__(self) -> None:
        self._spill = Scratch("duckdb")
        self._connection = duckdb.connect(":memory:")
        # Settings are DuckDB's own words, so they stay in this file; metrics never use them.
        self._connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        self._connection.execute(f"SET temp_directory = {_quoted(str(self._spill.path))}")
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute("SET enable_progress_bar = false")

    def load(self, tables: Mapping[str, Path | pa.Table]) -> None:
        for name, source in tables.items():
            if isinstance(source, Path):
                # A path is a pattern there: `run[1]` would be run1, wherever that is, too.
                path = _quoted(glob.escape(str(source)))
                self.define(name, f"SELECT * FROM read_parquet({path})")
            else:
                self._connection.execute(f"DROP VIEW IF EXISTS {name}")
                self._connection.register(name, source)

    def define(self, name: str, select: str) -> None:
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}")

    def materialise(self, name: str, select: str) -> None:
        with self._explained():
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {select}")

    def query(self, select: str) -> pa.Table:
        with self._explained():
            return self._connection.sql(select).to_arrow_table()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Report in one line an overflow of 64 bits, by damaged or forged times, or a full disk."""
        try:
            yield
        except duckdb.OutOfRangeException as error:
            said = str(error).splitlines()[0]
            raise InputError(f"engine duckdb: {said} The time stamps are damaged") from None
        except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
            said = str(error).splitlines()[0]
            if isinstance(error, duckdb.IOException) and "No space left" not in said:
                raise
            raise InputError(
                f"engine duckdb: {said}; what does not fit into memory goes to {self._spill.path}: "
                "make room, or set TMPDIR to another"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._spill.remove()
