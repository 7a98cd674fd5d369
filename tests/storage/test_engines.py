"""What every engine must do; a new engine is tested by being in the table."""

import os
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import servers
from taut.core.errors import InputError, MissingToolError
from taut.storage.engines import open_engine

TABLE = pa.table(
    {"value": pa.array([3, 1, 2], pa.int64()), "flags": pa.array([1, 2, 3], pa.uint16())}
)
EVERY_TYPE = pa.table(
    {
        "row": pa.array([0, 1, 2, 3], pa.uint8()),
        "whole": pa.array([-(2**63), 2**63 - 1, 0, None], pa.int64()),
        "large": pa.array([2**64 - 1, 0, 1, None], pa.uint64()),
        "yes": pa.array([True, False, None, None]),
        "word": pa.array(["", 'a,"b"\n\\N', "ü", None]),
        "thread": pa.array(["x", None, "x", "y"]).dictionary_encode(),
        "key": pa.array([b"", b"\x00\xff\n", b"\\x41", None], pa.binary()),
        "real": pa.array([0.1, -1e300, 2**-1074, None], pa.float64()),
        "sum": pa.array([Decimal(10**37), Decimal(-1), Decimal(0), None], pa.decimal128(38, 0)),
    }
)


@pytest.fixture
def engine(engine_at):
    with open_engine(*engine_at) as engine:
        yield engine


def test_parquet_and_arrow_answer_alike(engine, tmp_path):
    file = tmp_path / "it's [one] 50%.parquet"
    pq.write_table(TABLE, file)
    # What the name would mean as a pattern.
    pq.write_table(TABLE.slice(0, 1), tmp_path / "it's o 50%.parquet")

    engine.load({"from_file": file, "from_memory": TABLE})
    answers = [
        engine.query(f"SELECT value FROM {table} ORDER BY value").column("value").to_pylist()
        for table in ("from_file", "from_memory")
    ]

    assert answers == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("source", ["file", "memory"])
def test_every_type_comes_back_as_it_went_in(engine, source, tmp_path):
    pq.write_table(EVERY_TYPE, tmp_path / "t.parquet")

    engine.load({"t": tmp_path / "t.parquet" if source == "file" else EVERY_TYPE})
    columns = ", ".join(f"t.{name} AS {name}" for name in EVERY_TYPE.column_names)
    got = engine.query(f"SELECT {columns} FROM t ORDER BY t.row")

    assert got.to_pylist() == EVERY_TYPE.to_pylist()


def test_a_table_of_no_rows_keeps_its_columns(engine):
    engine.load({"t": EVERY_TYPE.slice(0, 0)})

    got = engine.query("SELECT t.word AS word, t.whole AS whole, t.key AS key FROM t ORDER BY 1")

    assert got.num_rows == 0
    assert got.schema.types == [pa.string(), pa.int64(), pa.binary()]


def test_a_row_that_is_one_null_is_a_row(engine):
    got = engine.query("SELECT CAST(NULL AS BIGINT) AS nothing ORDER BY nothing")

    assert got.to_pylist() == [{"nothing": None}]


def test_a_name_can_be_given_again(engine, tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")

    engine.load({"t": TABLE})
    engine.load({"t": TABLE.slice(0, 1)})
    engine.define("v", "SELECT value FROM t")
    engine.load({"t": tmp_path / "t.parquet"})
    engine.define("v", "SELECT value + 1 AS value, flags FROM t")
    rows = engine.query("SELECT value FROM v ORDER BY value").to_pylist()

    assert rows == [{"value": 2}, {"value": 3}, {"value": 4}]


def test_materialised_rows_stay_as_they_were(engine):
    engine.load({"t": TABLE})
    engine.materialise("kept", "SELECT value FROM t WHERE value > 1")
    engine.load({"t": TABLE.slice(0, 0)})
    before = engine.query("SELECT value FROM kept ORDER BY value").column("value").to_pylist()
    engine.materialise("kept", "SELECT value FROM t")
    after = engine.query("SELECT value FROM kept ORDER BY value").column("value").to_pylist()

    assert (before, after) == ([2, 3], [])


def test_sums_beyond_64_bits_are_exact(engine):
    big = pa.table({"value": pa.array([2**62, 2**62, 2**62], pa.int64())})

    engine.load({"big": big})
    total = engine.query("SELECT SUM(CAST(value AS DECIMAL(19, 0))) AS total FROM big ORDER BY 1")

    assert int(total.column("total")[0].as_py()) == 3 * 2**62


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_times_too_far_apart_are_one_line(name, request, capfd):
    url = None if name == "duckdb" else request.getfixturevalue(f"{name}_url")
    with open_engine(name, url) as engine:
        engine.load({"t": pa.table({"sent_ns": [-(2**63)], "received_ns": [5]})})
        far = "SELECT received_ns - sent_ns AS latency_ns FROM t ORDER BY latency_ns"

        for ask in (engine.query, lambda select: engine.materialise("far", select)):
            with pytest.raises(InputError, match="time stamps are damaged") as caught:
                ask(far)
            assert len(str(caught.value).splitlines()) == 1
    assert "ARITHMETIC_OVERFLOW" not in capfd.readouterr().err


def test_two_engines_do_not_see_each_other(engine_at):
    with open_engine(*engine_at) as one, open_engine(*engine_at) as other:
        one.load({"t": TABLE})
        other.load({"t": TABLE.slice(0, 1)})

        assert one.query("SELECT COUNT(*) AS n FROM t ORDER BY n").to_pylist() == [{"n": 3}]
        assert other.query("SELECT COUNT(*) AS n FROM t ORDER BY n").to_pylist() == [{"n": 1}]


def test_unknown_engine_names_the_known_ones():
    with pytest.raises(InputError, match="duckdb"):
        open_engine("access")


@pytest.mark.parametrize(
    ("name", "url", "words"),
    [
        ("duckdb", "x", "takes no URL"),
        ("postgres", "postgresql://taut@127.0.0.1:{port}/x", "refused.*--engine-url postgresql"),
        ("postgres", "mysql://127.0.0.1", "--engine-url postgresql"),
        ("spark", "spark://127.0.0.1:{port}", "refused.*--engine-url spark"),
        ("spark", "mesos://127.0.0.1:1", "local"),
    ],
)
def test_a_url_that_leads_nowhere_is_one_line_with_the_remedy(name, url, words):
    with servers.refusing_port() as port, pytest.raises(InputError, match=words) as caught:
        open_engine(name, url.format(port=port))

    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("postgres", "mysql://u:hunter2@127.0.0.1"),
        ("postgres", "postgresql://u:hunter2@127.0.0.1:x/y"),
        ("postgres", "postgresql://u:hunter2@127.0.0.1:{port}/x"),
        ("spark", "mesos://u:hunter2@127.0.0.1:1"),
    ],
)
def test_a_message_does_not_say_the_password(name, url):
    with servers.refusing_port() as port, pytest.raises(InputError) as caught:
        open_engine(name, url.format(port=port))

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("name", "package"), [("postgres", "psycopg"), ("spark", "pyspark")])
def test_a_missing_extra_says_how_to_get_it(name, package, monkeypatch):
    for module in [m for m in list(sys.modules) if m.startswith("taut.storage.engines.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingToolError, match=rf"pip install taut\[{name}\]"):
        open_engine(name)


def test_a_java_that_does_not_start_says_why_in_one_line(tmp_path):
    """In a process of its own: Java is started once in each."""
    pytest.importorskip("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'at org.Spark' >&2\necho 'Caused by: too old' >&2\nexit 1\n")
    java.chmod(0o755)
    code = """
from taut.core.errors import MissingToolError
from taut.storage.engines import open_engine
try:
    open_engine("spark")
except MissingToolError as error:
    print(error)
"""

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "engine spark: Java did not start (too old); it needs Java 17 or newer\n"


@pytest.mark.long
def test_a_java_that_is_lost_is_one_line():
    """In a process of its own, whose other engines would be lost with it."""
    if reason := servers.missing_spark():
        pytest.skip(reason)
    code = """
import pyarrow as pa
from pyspark.context import SparkContext
from taut.core.errors import TautError
from taut.storage.engines import open_engine
with open_engine("spark") as engine:
    engine.load({"t": pa.table({"value": [1]})})
    java = SparkContext._gateway.proc
    java.kill()
    java.wait()
    for ask in (engine.query, lambda select: engine.materialise("kept", select)):
        try:
            ask("SELECT value FROM t ORDER BY value")
        except TautError as error:
            print(error)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (
        done.stdout.splitlines()
        == ["engine spark: [Errno 111] Connection refused; is the cluster, or Java, still there?"]
        * 2
    )
    assert done.stderr == ""
