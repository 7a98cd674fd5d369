"""Tables in a trial's folder: names as text for others, metrics apart for us."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.analysis import trial_tables
from taut.analysis.distribution import SCHEMA, labelled
from taut.analysis.trial_tables import Distributions, read_distributions, write_or_remove

METRICS = ("jitter", "latency", "pdv")


def rows_of(metric, n):
    columns = ("direction", "is_void", "is_cold", "value_ns", "n")
    values = ([0] * n, [i % 2 == 0 for i in range(n)], [False] * n, list(range(n)), [1] * n)
    return labelled(metric, pa.table(dict(zip(columns, values, strict=True))))


@pytest.fixture(params=[10, 1 << 17], ids=["many row groups", "one"])
def path(request, tmp_path, monkeypatch):
    monkeypatch.setattr(trial_tables, "_ROW_GROUP", request.param)
    path = tmp_path / "distribution.parquet"
    write_or_remove(path, pa.concat_tables(rows_of(m, 7 + 20 * i) for i, m in enumerate(METRICS)))
    return path


def test_a_metric_is_read_as_it_was_written(path):
    distributions = Distributions(path)

    for metric in ("latency", "pdv", "latency", "jitter"):
        wanted = rows_of(metric, 7 + 20 * METRICS.index(metric))
        assert distributions.of(metric).to_pylist() == wanted.to_pylist()
        assert read_distributions(path, metric).to_pylist() == wanted.to_pylist()
    assert distributions.of("none").num_rows == 0
    assert read_distributions(path).num_rows == 81


def test_others_find_names_as_text(path):
    assert pq.read_schema(path).field("metric").type == pa.string()
    assert pq.read_schema(path).names == SCHEMA.names


def test_nothing_to_write_removes_what_was_there(path):
    write_or_remove(path, None)

    assert not path.exists()
    write_or_remove(path, None)
