"""A run as tables: the figures of results.json, the packets they are counted from."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import taut
from made_run import VARIANTS, make_run
from taut.analysis import results
from taut.cli.main import run_command
from taut.core.percentiles import PERCENTILES, percentile_rank

ABSENT = """
import sys, taut
packets = taut.load({run!r}).trials[0].packets
packets.to_arrow()
sys.modules[{library!r}] = None
try:
    packets.to_{library}()
except taut.MissingToolError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two devices twice, and one trial that failed."""
    folder = tmp_path_factory.mktemp("api") / "run"
    return make_run(folder, VARIANTS[:2], repetitions=2, failed=True)


@pytest.fixture(scope="module")
def run(path: Path) -> taut.Run:
    return taut.load(path)


def test_documents_are_those_of_the_files(run: taut.Run) -> None:
    verdict = run.verdict

    written = {name: json.loads((run.path / f"{name}.json").read_text()) for name in FILES}

    assert {name: getattr(run, name) for name in FILES} == written
    assert verdict == written["summary"]["verdict"]
    for trial, entry in zip(run.trials, written["results"]["trials"], strict=True):
        assert trial.results == entry
        assert trial.document["name"] == trial.name


FILES = ("results", "summary")
FIGURES = {"min", "mean", "stdev", *PERCENTILES, "max"}


def test_every_metric_has_the_digits_of_results_json(run: taut.Run) -> None:
    for trial in run.trials[:-1]:
        entry = json.loads((run.path / "results.json").read_text())["trials"]
        [entry] = [one for one in entry if one["name"] == trial.name]
        for metric, figures in trial.metrics.items():
            assert figures == entry[f"{metric}_ns"]
            assert trial.figure("p99", metric) == entry[f"{metric}_ns"]["p99"]
            without_void = entry[f"{metric}_without_void_ns"]
            assert trial.figure("max", metric, without_void=True) == without_void["max"]


def test_the_table_of_figures_has_them_all(run: taut.Run) -> None:
    rows = run.figures.to_arrow().to_pylist()

    found = {
        (row["trial"], row["metric"], row["figure"]): row["value_ns"]
        for row in rows
        if not row["without_void"]
    }

    for trial in run.trials[:-1]:
        for metric, figures in trial.metrics.items():
            said = {n: v for n, v in figures.items() if n in FIGURES}
            assert {n: found[trial.name, metric, n] for n in said} == said
    assert {row["trial"] for row in rows} == {trial.name for trial in run.trials[:-1]}


def test_the_percentiles_can_be_counted_from_the_packets(run: taut.Run) -> None:
    for trial in run.trials[:-1]:
        rows = trial.packets.to_arrow(["latency_ns", "is_cold"])
        latencies = rows.filter(~pc.field("is_cold"))["latency_ns"].drop_null().sort()

        n = len(latencies)
        ranks = {p: percentile_rank(n, of) for p, of in PERCENTILES.items()}
        counted = {p: latencies[rank - 1].as_py() for p, rank in ranks.items()}

        assert n == trial.metrics["latency"]["n"]
        assert counted == {p: trial.figure(p) for p in PERCENTILES}


def test_flags_have_columns_and_second_receipts_no_latency(run: taut.Run) -> None:
    rows = run.trials[1].packets.to_arrow(["latency_ns", "is_duplicate", "is_orphan", "is_void"])

    extra = rows.filter(pc.field("is_duplicate") | pc.field("is_orphan"))

    assert (extra.num_rows, extra["latency_ns"].null_count) == (3, 3)
    assert pc.sum(rows["is_void"]).as_py() == run.trials[1].results["void"]


def test_a_table_says_what_it_has_before_it_is_read(run: taut.Run) -> None:
    packets = run.trials[0].packets

    assert len(packets) == packets.n_rows == packets.to_arrow(["seq"]).num_rows
    assert packets.to_arrow().column_names == list(packets.columns)
    assert packets.to_arrow(["seq", "flow"]).column_names == ["seq", "flow"]
    assert repr(packets).startswith(f"Table({run.trials[0].name} packets: 20,003 rows; seq, ")


def test_arrow_takes_a_table_as_it_is(run: taut.Run) -> None:
    assert pa.table(run.trials[0].distribution) == run.trials[0].distribution.to_arrow()


def test_the_slowest_packets_are_a_table(run: taut.Run) -> None:
    worst = run.trials[1].worst.to_arrow(["latency_ns"])

    assert worst["latency_ns"][0].as_py() == run.trials[1].figure("max")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_there_gets_the_same_rows(library: str, run: taut.Run) -> None:
    pytest.importorskip(library)
    packets = run.trials[1].packets

    frame = getattr(packets, f"to_{library}")(["seq", "latency_ns"])

    assert list(frame.columns) == ["seq", "latency_ns"]
    assert frame["latency_ns"].max() == pc.max(packets.to_arrow()["latency_ns"]).as_py()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_absent_is_one_line(library: str, path: Path) -> None:
    code = ABSENT.format(library=library, run=str(path))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.startswith(f"{library}: not installed"), done.stderr
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda run: run.trials[-1].packets,
            "packets: there are none: it failed: taut_",
        ),
        (lambda run: run.trials[-1].metrics, "no figures: it failed: taut_forward: killed"),
        (lambda run: run.trials[0].events, "events: there are none: it was not traced"),
        (lambda run: run.trials[0].stamps, "stamps: there are none: no hop of it stamps"),
        (lambda run: run.trials[0].figure("p98"), "no figure 'p98'; did you mean 'p99'?"),
        (lambda run: run.trials[0].figure("p50", "jiter"), "did you mean 'jitter'?"),
        (lambda run: run.figures.to_arrow(["value"]), "no column 'value'; did you mean"),
        (lambda run: taut.load(run.path / "nothing"), "no such run directory"),
        (lambda run: taut.load(run.path / "trials"), "no trials; give a run directory"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(ask, words, run: taut.Run) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(taut.InputError, match=r"^[^\n]+$") as raised:
        ask(run)

    assert words in str(raised.value)


@pytest.mark.parametrize("record", ["all", "tail", "none"])
def test_packets_are_there_unless_none_were_recorded(record: str, tmp_path: Path) -> None:
    [trial] = (make_run(tmp_path / "run", VARIANTS[:1], repetitions=1) / "trials").iterdir()
    meta = json.loads((trial / "trial.json").read_text())
    meta["traffic"]["record"] = record
    (trial / "trial.json").write_text(json.dumps(meta))
    packets = pq.read_table(trial / "packets.parquet")
    kept = {"all": len(packets), "tail": 5, "none": 0}[record]
    pq.write_table(packets.slice(0, kept), trial / "packets.parquet")

    [found] = taut.load(tmp_path / "run").trials

    if record == "none":
        with pytest.raises(taut.InputError, match=r"packets: there are none: packets were not"):
            _ = found.packets
    else:
        assert found.packets.n_rows == kept
        found.path.joinpath("packets.parquet").unlink()
        with pytest.raises(taut.InputError, match="`taut pack --without-records` leaves it out"):
            _ = found.packets


def test_a_damaged_table_is_said_in_one_line(tmp_path: Path) -> None:
    trial = taut.load(make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)).trials[0]
    (trial.path / "packets.parquet").write_bytes(b"PAR1 and no more")

    with pytest.raises(taut.InputError, match=r"packets\.parquet: damaged \("):
        _ = trial.packets


def test_what_the_machine_refuses_is_the_line_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)

    def refuse(path: Path, _: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(results, "write_json", refuse)
    with pytest.raises(taut.InputError, match="Read-only file system; name another") as caught:
        _ = taut.load(run).verdict

    assert run_command(["report", str(run)]) == 2
    assert capsys.readouterr().err == f"taut: {caught.value}\n"
