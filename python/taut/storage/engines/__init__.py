"""The engines by name. To add one: a file here and a line in ENGINES.

A library is imported when its engine is opened: PostgreSQL's and Spark's are extras.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from taut.core.errors import InputError, MissingToolError
from taut.storage.engine import Engine


def _duckdb(_: str | None) -> Engine:
    from taut.storage.engines.duckdb import DuckdbEngine

    return DuckdbEngine()


def _postgres(url: str | None) -> Engine:
    from taut.storage.engines.postgres import PostgresEngine

    return PostgresEngine(url)


def _spark(url: str | None) -> Engine:
    from taut.storage.engines.spark import SparkEngine

    return SparkEngine(url)


@dataclass(frozen=True)
class EngineKind:
    """How an engine is opened, and whether each of taut's processes may have its own."""

    open: Callable[[str | None], Engine]
    is_embedded: bool


ENGINES: Mapping[str, EngineKind] = {
    "duckdb": EngineKind(_duckdb, is_embedded=True),
    "postgres": EngineKind(_postgres, is_embedded=False),
    "spark": EngineKind(_spark, is_embedded=False),
}


def engine_kind(name: str, url: str | None = None) -> EngineKind:
    """Return the kind of that name; InputError: there is none, or it takes no URL."""
    if name not in ENGINES:
        raise InputError(f"engine {name}: not known; choose one of {', '.join(ENGINES)}")
    if ENGINES[name].is_embedded and url is not None:
        raise InputError(f"engine {name}: runs inside taut and takes no URL; leave it out")
    return ENGINES[name]


def open_engine(name: str, url: str | None = None) -> Engine:
    """Open the engine of that name: at the URL of its server, or where it is by default."""
    kind = engine_kind(name, url)
    try:
        return kind.open(url)
    except ModuleNotFoundError as error:
        raise MissingToolError(
            f"engine {name}: the Python package {error.name} is missing; pip install taut[{name}]"
            " (in a clone: devtools/setup.sh test)"
        ) from None
