"""What every engine must do; a new engine is tested by being in the table."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.core.errors import InputError
from taut.storage.engines import ENGINES, open_engine

TABLE = pa.table(
    {"value": pa.array([3, 1, 2], pa.int64()), "flags": pa.array([1, 2, 3], pa.uint16())}
)


@pytest.mark.parametrize("name", ENGINES)
def test_parquet_and_arrow_answer_alike(name, tmp_path):
    pq.write_table(TABLE, tmp_path / "it's.parquet")

    with open_engine(name) as engine:
        engine.load({"from_file": tmp_path / "it's.parquet", "from_memory": TABLE})
        answers = [
            engine.query(f"SELECT value FROM {table} ORDER BY value").column("value").to_pylist()
            for table in ("from_file", "from_memory")
        ]

    assert answers == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("name", ENGINES)
def test_a_name_can_be_given_again(name, tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")

    with open_engine(name) as engine:
        engine.load({"t": TABLE})
        engine.load({"t": TABLE.slice(0, 1)})
        engine.define("v", "SELECT value FROM t")
        engine.load({"t": tmp_path / "t.parquet"})
        engine.define("v", "SELECT value + 1 AS value FROM t")
        rows = engine.query("SELECT value FROM v ORDER BY value").to_pylist()

    assert rows == [{"value": 2}, {"value": 3}, {"value": 4}]


@pytest.mark.parametrize("name", ENGINES)
def test_sums_beyond_64_bits_are_exact(name):
    big = pa.table({"value": pa.array([2**62, 2**62, 2**62], pa.int64())})

    with open_engine(name) as engine:
        engine.load({"big": big})
        total = engine.query(
            "SELECT SUM(CAST(value AS DECIMAL(19, 0))) AS total FROM big ORDER BY 1"
        )

    assert int(total.column("total")[0].as_py()) == 3 * 2**62


def test_unknown_engine_names_the_known_ones():
    with pytest.raises(InputError, match="duckdb"):
        open_engine("access")
