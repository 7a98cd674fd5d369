"""An engine that is opened when it is first asked for something."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from taut.storage.engine import Engine
from taut.storage.engines import open_engine

if TYPE_CHECKING:
    import pyarrow as pa


class LazyEngine:
    """For who may not need one: to load DuckDB takes 0.1 s and 50 MB."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._opened = ExitStack()
        self._engine: Engine | None = None

    def _open(self) -> Engine:
        if self._engine is None:
            self._engine = self._opened.enter_context(open_engine(self._name))
        return self._engine

    def load(self, tables: "Mapping[str, Path | pa.Table]") -> None:
        self._open().load(tables)

    def define(self, name: str, select: str) -> None:
        self._open().define(name, select)

    def materialise(self, name: str, select: str) -> None:
        self._open().materialise(name, select)

    def query(self, select: str) -> "pa.Table":
        return self._open().query(select)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()
