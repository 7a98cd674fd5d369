"""What PostgreSQL alone must do: leave nothing behind, not even after a crash."""

import subprocess
import sys

import psycopg
import pyarrow as pa
import pytest

from taut.core.errors import TautError
from taut.storage.engines import open_engine
from waiting import wait_for

LEAVE_A_SCHEMA = """
import os, sys
from taut.storage.engines import open_engine
engine = open_engine("postgres", sys.argv[1])
engine.materialise("t", "SELECT 1 AS x")
os.kill(os.getpid(), 9)
"""


def schemas(url):
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'taut%' ORDER BY nspname"
        ).fetchall()
    return [name for (name,) in found]


def n_locks(url):
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        ).fetchone()[0]


def test_nothing_is_left_behind(postgres_url):
    with open_engine("postgres", postgres_url) as engine:
        engine.materialise("t", "SELECT 1 AS x")
        assert len(schemas(postgres_url)) == 1

    assert schemas(postgres_url) == []


def test_what_a_crash_left_is_dropped_and_what_lives_is_not(postgres_url):
    with open_engine("postgres", postgres_url) as living:
        living.materialise("t", "SELECT 1 AS x")
        killed = subprocess.run(
            [sys.executable, "-c", LEAVE_A_SCHEMA, postgres_url], check=False
        ).returncode
        left = schemas(postgres_url)
        # The server's process of that client lets go when it has met the end of its connection.
        wait_for("one lock", lambda: n_locks(postgres_url) == 1)

        with open_engine("postgres", postgres_url):
            now = schemas(postgres_url)

        assert killed == -9
        assert len(left) == 2
        assert len(now) == 2
        assert len(set(left) & set(now)) == 1
        assert living.query("SELECT x FROM t ORDER BY x").to_pylist() == [{"x": 1}]


def test_a_server_that_ends_the_session_is_one_line(postgres_url):
    with open_engine("postgres", postgres_url) as engine:
        engine.load({"t": pa.table({"x": [1]})})
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND usename = current_user"
            )

        with pytest.raises(TautError, match="engine postgres: ") as caught:
            engine.query("SELECT x FROM t ORDER BY x")

    assert len(str(caught.value).splitlines()) == 1
