"""The engines by name. To add one: a file here and a line in ENGINES."""

from collections.abc import Callable, Mapping

from taut.core.errors import InputError
from taut.storage.engine import Engine
from taut.storage.engines.duckdb import DuckdbEngine

ENGINES: Mapping[str, Callable[[], Engine]] = {
    "duckdb": DuckdbEngine,
}


def open_engine(name: str) -> Engine:
    """Return the engine of that name, or say which there are."""
    if name not in ENGINES:
        raise InputError(f"engine {name}: not known; choose one of {', '.join(ENGINES)}")
    return ENGINES[name]()
