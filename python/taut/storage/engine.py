"""What an SQL engine must do for taut.

Everything above this seam is portable SQL: named columns, explicit casts, integer nanoseconds and
an ORDER BY, so that DuckDB, PostgreSQL and Spark give the same answer.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:  # `taut report -h` names the engines, and needs no table
    import pyarrow as pa


class Engine(Protocol):
    """One private database, empty when entered and gone when left.

    A view reads names as they were when it was defined: after a name is redefined, views over it
    have to be defined again.  A column is at most a 64-bit integer, a
    boolean, a double, text, bytes or a decimal.
    """

    def load(self, tables: Mapping[str, "Path | pa.Table"]) -> None:
        """Name Parquet files or Arrow tables, replacing what had the name."""

    def define(self, name: str, select: str) -> None:
        """Name a SELECT (a view), replacing what had the name."""

    def materialise(self, name: str, select: str) -> None:
        """Name the rows of a SELECT as they are now: for what several queries read."""

    def query(self, select: str) -> "pa.Table":
        """Give all rows of one SELECT; a value beyond 64 bits is an error, never a wrong one."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
