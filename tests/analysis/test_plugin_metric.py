"""A metric of another package: counted by an engine, whoever counts the others; in the manifest."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from made_plugin import METRIC, make_plugin, python, taut, taut_json
from made_run import VARIANTS, make_run
from taut.analysis.distribution import select_metric
from taut.analysis.metric import Metric, Shape, refuses
from taut.analysis.metrics import METRICS

POINTS = {"made_intent": "made:ROW", "made_intent_derived": "made:DERIVED"}
ANALYSE = """
import sys
from pathlib import Path
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory
engine = sys.argv[2] if len(sys.argv) > 2 else None
for trial in analyse_run(RunDirectory(Path(sys.argv[1])), engine).trials:
    metrics = trial.figures.metrics.all_packets
    print(metrics["made_intent"].n, metrics["latency_from_intent"].n)
"""


def test_its_values_are_exact_whoever_counts_the_others(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)
    made = {"made": METRIC.format(name="made_intent")}
    plugin = make_plugin(tmp_path / "plugin", "taut-made", {"taut.metrics": POINTS}, made)

    # In one pass, then by an engine.
    for engine in ([], ["duckdb"]):
        for line in python(plugin, ANALYSE, run, *engine):
            n, of = map(int, line.split())
            assert n == of > 0
        for path in run.glob("trials/*/distribution.parquet"):
            _is_the_same_three_times(pq.read_table(path))

    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["analysed_with"] == [
        {"table": "taut.metrics", "name": name, "package": "taut-made", "version": "1.0"}
        for name in POINTS
    ]
    # Who has not got the package reads what it found, and analyses without it.
    status, _, err = taut(tmp_path, "report", str(run))
    assert (status, err) == (0, "")
    assert "made_intent" in (run / "results.json").read_text()
    taut(tmp_path, "report", str(run), "--again")
    assert "made_intent" not in (run / "results.json").read_text()
    assert "analysed_with" not in json.loads((run / "manifest.json").read_text())


BROKEN = """
from taut.analysis.metric import Metric, distribution_sql

def row(name, value, where="received_ns IS NOT NULL", **more):
    return Metric(name, "ns", "made to fail in its SELECT", distribution_sql(value, where), **more)

COLUMN = row("no_column", "not_there")
CAST = row("bad_cast", "CAST('x' || (seq - seq) AS BIGINT)")
NULL = row("a_null", "NULLIF(received_ns, received_ns)")
DERIVED = row("derived", "not_there", derived=True)
"""


def test_a_select_that_fails_leaves_out_its_metric_and_nothing_else(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)
    broken = {"no_column": "COLUMN", "bad_cast": "CAST", "a_null": "NULL", "derived": "DERIVED"}
    points = POINTS | {name: f"broken:{member}" for name, member in broken.items()}
    made = {"made": METRIC.format(name="made_intent"), "broken": BROKEN}
    plugin = make_plugin(tmp_path / "plugin", "taut-made", {"taut.metrics": points}, made)

    for engine in ([], ["--engine", "duckdb"]):
        status, _, err = taut(plugin, "report", str(run), "--again", *engine)

        assert status == 0
        said = sorted(line.split(":")[1].removeprefix(" metric ") for line in err.splitlines())
        assert said == sorted(broken)  # once, not for each trial
        assert "taut: metric a_null: left out: ValueError: its SELECT gives a NULL\n" in err
        for trial in json.loads((run / "results.json").read_text())["trials"]:
            assert {f"taut: {line}" for line in trial["warnings"]} >= set(err.splitlines())
        for path in run.glob("trials/*/distribution.parquet"):
            _is_the_same_three_times(table := pq.read_table(path))
            assert not set(broken) & set(table["metric"].unique().to_pylist())


def _is_the_same_three_times(table: pa.Table) -> None:
    intent, made, derived = (
        select_metric(table, name).drop_columns("metric")
        for name in ("latency_from_intent", *POINTS)
    )
    assert made.equals(intent) and derived.equals(intent)
    names = table["metric"].unique().to_pylist()
    assert names == sorted(names)


def test_only_a_distribution_in_nanoseconds_may_be_a_plugin_s(tmp_path: Path) -> None:
    source = "\n".join(
        f"{name.upper()} = Metric({name!r}, {unit!r}, 'words', '', {rest})"
        for name, unit, rest in (
            ("counts", "packets", "shape=Shape.COUNTS"),
            ("bytes", "B", ""),
            ("series", "ns", "series='service'"),
            ("Big", "ns", ""),
        )
    )
    points = {name: f"made:{name.upper()}" for name in ("counts", "bytes", "series", "Big")}
    head = "from taut.analysis.metric import Metric, Shape\n"
    make_plugin(tmp_path, "taut-made", {"taut.metrics": points}, {"made": head + source})

    rows = taut_json(tmp_path, "plugins")["plugins"]

    assert {row["name"]: row["why_not"].partition(";")[0] for row in rows} == {
        "counts": "it counts packets",
        "bytes": "its unit is 'B'",
        "series": "it has a series",
        "Big": "name 'Big': small letters, digits and _ are wanted",
    }


def test_a_metric_of_taut_s_kind_is_taken() -> None:
    assert refuses(Metric("mine", "ns", "words", "SELECT")) is None
    assert {m.name for m in METRICS if m.shape is Shape.COUNTS and refuses(m) is None} == set()
