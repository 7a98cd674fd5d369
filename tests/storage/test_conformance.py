"""The same records give the same numbers, to the last digit, whatever engine is asked.

DuckDB's answers are the measure; other tests work them out by hand.  What this suite is not told
of (a new metric, a new engine) it covers by reading the tables.
"""

import pyarrow.parquet as pq
import pytest

from made_packets import (
    HARD,
    write_gaps,
    write_packets,
)
from made_run import MadeTrial, MadeVariant, make_run
from stages import SPARK_AT_LENGTH
from taut.analysis import distribution, tables
from taut.analysis.blocks import count_by_time
from taut.analysis.distribution import measure_packets, select_metric
from taut.analysis.episode import find_episodes
from taut.analysis.metric import Metric, Shape, distribution_sql
from taut.analysis.metrics import METRICS
from taut.analysis.results import analyse_run
from taut.analysis.worst import worst_packets
from taut.core.plugins import PluginWarning
from taut.records.rundir import RunDirectory
from taut.storage.engines import open_engine

N_FLOWS = 3
RUN = (
    MadeVariant("floor", "loopback", MadeTrial(4_000, n_cold=200, device_stall=None)),
    MadeVariant(
        "device",
        "taut_forward",
        MadeTrial(
            6_000,
            n_flows=N_FLOWS,
            n_cold=500,
            n_lost=40,
            n_unsent=3,
            n_duplicates=5,
            n_orphans=2,
            device_stall=(20_000_000, 21_000_000),
            generator_gap=(20_500_000, 20_800_000),
        ),
    ),
)
GAPS = [(3_000_000, 3_050_000, "forwarder"), (3_040_000, 3_060_000, "generator"), (0, 1, "x")]


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """A trial written by hand, with gaps."""
    folder = tmp_path_factory.mktemp("hard")
    write_gaps(folder / "gaps.parquet", GAPS)
    return write_packets(folder / "packets.parquet", HARD)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("conformance") / "run", RUN, repetitions=1)


@pytest.fixture(scope="module", params=["made", "hard"])
def packets(request, run, hard):
    if request.param == "hard":
        return hard
    return next(run.glob("trials/*device*")) / "packets.parquet"


def both(ask, engine_at):
    """What DuckDB answers, and what the engine does."""
    answers = []
    for at in (("duckdb", None), engine_at):
        with open_engine(*at) as engine:
            answers.append(ask(engine))
    return answers


@pytest.fixture(scope="module")
def measured(packets, engine_at):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "CHUNK_PACKETS", 4_000)
        return both(lambda e: measure_packets(e, packets, N_FLOWS), engine_at)


@SPARK_AT_LENGTH
@pytest.mark.parametrize(
    "metric", [m for m in METRICS if m.shape is Shape.DISTRIBUTION], ids=lambda m: m.name
)
def test_metric_is_the_same(metric, measured):
    expected, got = (select_metric(m.distribution, metric.name) for m in measured)

    assert expected.num_rows > 0
    assert got.equals(expected)


@SPARK_AT_LENGTH
def test_every_distribution_and_counter_is_the_same(measured):
    expected, got = measured

    assert got.distribution.equals(expected.distribution)
    assert got.distribution.num_rows > 100
    assert got.counts == expected.counts


@SPARK_AT_LENGTH
def test_episodes_are_the_same(packets, engine_at):
    def ask(engine):
        tables.load_packets(engine, packets)
        return find_episodes(engine, packets.parent / "gaps.parquet", 21_000)

    expected, got = both(ask, engine_at)

    assert got == expected
    assert expected.n > 0
    assert any(episode.gaps for episode in expected.worst)


@SPARK_AT_LENGTH
def test_worst_packets_are_the_same(packets, engine_at):
    expected, got = both(lambda e: worst_packets(e, packets, n=500), engine_at)

    assert got.to_pylist() == expected.to_pylist()
    assert expected.num_rows > 100


@SPARK_AT_LENGTH
def test_intervals_are_the_same(packets, engine_at):
    def ask(engine):
        tables.load_packets(engine, packets)
        return {
            number: [column.tolist() for column in counts]
            for number, counts in count_by_time(engine).seconds.items()
        }

    expected, got = both(ask, engine_at)

    assert got == expected


@SPARK_AT_LENGTH
def test_counts_by_block_are_the_same(packets, engine_at):
    def ask(engine):
        tables.load_packets(engine, packets)
        return count_by_time(engine).blocks

    expected, got = both(ask, engine_at)

    assert got.equals(expected)
    assert len(set(expected["block"].to_pylist())) > 1


@SPARK_AT_LENGTH
def test_a_whole_run_is_the_same(run, engine_at):
    def ask(name, url):
        document = analyse_run(RunDirectory(run), name, engine_url=url)
        files = {
            path.relative_to(run): path.read_bytes()
            for path in sorted(run.glob("trials/*/latency.*"))
        }
        exact = [pq.read_table(path) for path in sorted(run.glob("trials/*/distribution.parquet"))]
        return document, files, exact

    expected = ask("duckdb", None)
    got = ask(*engine_at)

    assert got == expected
    assert len(expected[0].trials) == len(RUN)


def test_large_numbers_keep_every_digit(engine_at):
    select = "SELECT CAST(9223372036854775807 AS BIGINT) - 1 AS whole ORDER BY whole"

    expected, got = both(lambda e: e.query(select).to_pylist(), engine_at)

    assert got == expected == [{"whole": 2**63 - 2}]


@pytest.mark.parametrize("value", ["not_there", "CAST('x' || seq AS BIGINT)"])
def test_a_select_of_a_plugin_that_fails_takes_nothing_else_along(
    hard, engine_at, value, monkeypatch
):
    broken = Metric("broken", "ns", "made to fail", distribution_sql(value, "seq >= 0"))
    with open_engine(*engine_at) as engine:
        expected = measure_packets(engine, hard, N_FLOWS)
        monkeypatch.setattr(distribution, "ADDED", (broken,))
        monkeypatch.setattr(distribution, "METRICS", (broken, *METRICS))
        with pytest.warns(PluginWarning, match="^metric broken: left out: "):
            got = measure_packets(engine, hard, N_FLOWS)

    assert got.distribution.equals(expected.distribution)
    assert (got.counts, list(got.left_out)) == (expected.counts, ["broken"])
