"""PostgreSQL, at a server somebody runs: rows go in and out by COPY, in pieces.

Each engine has a schema of its own, and its session holds an advisory lock on it.  A schema whose
lock is free is what a crash left: the next engine drops it.  This is the only file that imports
psycopg.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import pyarrow as pa
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from taut.core.credentials import hide_passwords
from taut.core.errors import InputError, TautError
from taut.records import parquet
from taut.storage.copy_rows import arrow_type, from_csv, plain_schema, sql_type, to_csv

_BATCH_ROWS = 1 << 16
_CONNECT_TIMEOUT_S = 10

_SETTINGS = (
    # Sorting a chunk of records takes a few hundred megabytes; the server's default is 4.
    "SET work_mem = '256MB'",
    "SET jit = off",
    "SET client_min_messages = warning",
    "SET bytea_output = hex",
)

_OUR_SCHEMAS = """
SELECT oid, nspname FROM pg_namespace
WHERE nspname ~ '^taut_[0-9a-f]{16}$' AND pg_get_userbyid(nspowner) = CURRENT_USER
ORDER BY nspname"""


class PostgresEngine:
    """A schema with a random name, dropped when left. Tables are not logged: nobody keeps them."""

    def __init__(self, url: str | None = None) -> None:
        self._connection = _connect(url)
        self._schema = f"taut_{secrets.token_hex(8)}"
        self._kinds: dict[str, str] = {}
        try:
            self._drop_ownerless()
            self._create_schema()
        except psycopg.Error as error:
            self._connection.close()
            raise InputError(
                f"engine postgres: {_first_line(error)}; taut needs the right to create a schema"
            ) from None

    def load(self, tables: Mapping[str, Path | pa.Table]) -> None:
        for name, source in tables.items():
            if isinstance(source, Path):
                with parquet.opened(source) as file:
                    self._fill(name, file.schema_arrow, file.iter_batches(_BATCH_ROWS))
            else:
                self._fill(name, source.schema, source.to_batches(_BATCH_ROWS))

    def define(self, name: str, select: str) -> None:
        self._replace(name, "VIEW", f"CREATE VIEW {name} AS {select}")

    def materialise(self, name: str, select: str) -> None:
        self._replace(name, "TABLE", f"CREATE UNLOGGED TABLE {name} AS {select}")
        self._execute(f"ANALYZE {name}")

    def query(self, select: str) -> pa.Table:
        with _explained():
            schema = self._describe(select)
            copy = f"COPY ({select}) TO STDOUT (FORMAT csv, HEADER true)"
            with self._connection.cursor().copy(copy.encode()) as rows:
                return from_csv(b"".join(rows), schema)

    def _fill(self, name: str, columns: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        plain = plain_schema(columns)
        types = ", ".join(f'"{f.name}" {sql_type(f.name, f.type)}' for f in plain)
        self._replace(name, "TABLE", f"CREATE UNLOGGED TABLE {name} ({types})")
        copy = f"COPY {name} FROM STDIN (FORMAT csv)"
        with _explained(), self._connection.cursor().copy(copy.encode()) as rows:
            for batch in batches:
                rows.write(to_csv(batch.cast(plain)))
        self._execute(f"ANALYZE {name}")

    def _replace(self, name: str, kind: str, create: str) -> None:
        """Replace a name; views over the old one are dropped, as the interface allows."""
        if name in self._kinds:
            self._execute(f"DROP {self._kinds.pop(name)} IF EXISTS {name} CASCADE")
        self._execute(create)
        self._kinds[name] = kind

    def _describe(self, select: str) -> pa.Schema:
        """Give the columns of a SELECT by asking for no row of it, which costs only planning."""
        none = self._connection.execute(f"SELECT * FROM ({select}) AS rows LIMIT 0".encode())
        return pa.schema(
            (c.name, arrow_type(c.name, c.type_code, c.scale)) for c in none.description or []
        )

    def _execute(self, statement: str) -> None:
        with _explained():
            self._connection.execute(statement.encode())

    def _create_schema(self) -> None:
        # Nobody sees the schema before its lock is held: both become true with the commit.
        with self._connection.transaction():
            self._connection.execute(f"CREATE SCHEMA {self._schema}".encode())
            row = self._connection.execute(
                "SELECT oid FROM pg_namespace WHERE nspname = %s", (self._schema,)
            ).fetchone()
            self._connection.execute("SELECT pg_advisory_lock(%s)", (_lock_key(row),))
        for setting in (*_SETTINGS, f"SET search_path = {self._schema}"):
            self._connection.execute(setting.encode())

    def _drop_ownerless(self) -> None:
        for row in self._connection.execute(_OUR_SCHEMAS).fetchall():
            key = (_lock_key(row),)
            locked = self._connection.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone()
            if locked == (True,):
                self._connection.execute(f"DROP SCHEMA IF EXISTS {row[1]} CASCADE".encode())
                self._connection.execute("SELECT pg_advisory_unlock(%s)", key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A server that is gone cannot drop it now; the next engine will.
        with suppress(psycopg.Error):
            self._connection.execute(f"DROP SCHEMA {self._schema} CASCADE".encode())
        self._connection.close()


def _connect(url: str | None) -> psycopg.Connection:
    try:
        where = conninfo_to_dict(url or "")
        where.setdefault("connect_timeout", _CONNECT_TIMEOUT_S)
        return psycopg.connect(make_conninfo("", **where), autocommit=True)
    except psycopg.Error as error:
        raise InputError(
            f"engine postgres: {_first_line(error)}; start the server, or say where it is: "
            "--engine-url postgresql://USER@HOST:PORT/DATABASE"
        ) from None


def _lock_key(row: tuple[object, ...] | None) -> int:
    """Give the number of a schema's advisory lock: "taut" before the schema's object id."""
    return 0x7461_7574 << 32 | int(str(row[0] if row else 0))


@contextmanager
def _explained() -> Iterator[None]:
    """Report in one line that the server stopped, has no room left, or was given damaged times."""
    try:
        yield
    except psycopg.errors.NumericValueOutOfRange as error:
        raise InputError(
            f"engine postgres: {_first_line(error)}; the time stamps are damaged"
        ) from None
    except psycopg.OperationalError as error:
        raise TautError(f"engine postgres: {_first_line(error)}; see the server's log") from error


def _first_line(error: psycopg.Error) -> str:
    """One line, without what libpq quotes of the URL's password."""
    return hide_passwords((str(error).splitlines() or [type(error).__name__])[0].strip())
