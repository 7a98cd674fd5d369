import json

import pytest
import typer
from typer.testing import CliRunner

from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.analysis.trial_tables import DISTRIBUTION
from taut.cli.main import run_command
from taut.cli.report import report
from taut.core.errors import InputError
from taut.records.rundir import RunDirectory


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(report)
    return app


def test_report_prints_the_table_and_writes_the_file(app, tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)

    done = CliRunner().invoke(app, [str(run)])

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"Report: {run / 'report.html'}"
    assert (run / "report.html").is_file()


def test_report_json_is_one_document(app, tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)

    done = CliRunner().invoke(app, [str(run), "--json", "--out", str(tmp_path / "r.html")])

    document = json.loads(done.stdout)
    assert document["report"] == str(tmp_path / "r.html")
    assert len(document["runs"][0]["trials"]) == 2


def test_what_is_analysed_is_read_unless_it_is_asked_for_again(app, tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)
    [trial] = (run / "trials").iterdir()
    told, counted = [], []

    for more in ([], [], ["--again"], ["--engine", "duckdb"]):
        done = CliRunner().invoke(app, [str(run), "--json", *more])
        told.append(json.loads(done.stdout))
        counted.append((trial / DISTRIBUTION).stat().st_mtime_ns)

    assert told[1:] == told[:1] * 3
    assert counted[0] == counted[1] < counted[2] < counted[3]


def test_timings_are_a_key_of_the_document_or_a_table_below_the_other(app, tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)

    document = json.loads(CliRunner().invoke(app, [str(run), "--timings", "--json"]).stdout)
    shown = CliRunner().invoke(app, [str(run), "--timings"]).stdout.splitlines()

    stages = [one["stage"] for one in document["timings"]]
    assert {"libraries", "analysis", "figures", "page"} < set(stages)
    table = shown[shown.index(f"Report: {run / 'report.html'}") + 2 :]
    assert table[0].split() == ["stage", "seconds"]
    assert [line.split()[0] for line in table[1:]] == [
        *("start", "libraries", "analysis", "figures", "page", "table", "rest", "together")
    ]


def test_what_is_not_a_run_is_bad_input(app, tmp_path):
    done = CliRunner().invoke(app, [str(tmp_path / "nowhere")])

    assert isinstance(done.exception, InputError)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("distribution.parquet", []),
        ("packets.parquet", ["--again"]),
        ("packets.parquet", ["--engine", "duckdb"]),
    ],
)
def test_a_table_that_was_cut_is_one_line(name, how, tmp_path, capsys):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)
    analyse_run(RunDirectory(run))
    [table] = run.glob(f"trials/*/{name}")
    table.write_bytes(table.read_bytes()[:-100])

    assert run_command(["report", str(run), *how]) == 2

    err = capsys.readouterr().err
    assert f"taut: {table}: damaged (" in err
    assert err.count("\n") == 1


def test_report_asks_the_server_it_is_told(app, tmp_path, postgres_url):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)
    where = ["--engine", "postgres", "--engine-url", postgres_url]

    done = CliRunner().invoke(app, [str(run), *where, "--json"])

    document = json.loads(done.stdout)
    assert document["runs"][0]["trials"][0]["latency_ns"]["n"] > 0


@pytest.mark.parametrize("command", [["report", "run"], ["analyze", "in.pcap", "out.pcap"]])
def test_a_password_on_the_command_line_is_refused(command, capsys):
    where = ["--engine", "postgres", "--engine-url", "postgresql://u:hunter2@127.0.0.1/x"]

    status = run_command([*command, *where])

    said = capsys.readouterr()
    assert status == InputError.exit_status
    assert "PGPASSWORD" in said.err
    assert "hunter2" not in said.out + said.err


def test_an_engine_that_is_not_there_is_bad_input(app, tmp_path):
    run = make_run(tmp_path / "run", VARIANTS[:1], repetitions=1)

    done = CliRunner().invoke(app, [str(run), "--engine", "duckdb", "--engine-url", "x"])

    assert isinstance(done.exception, InputError)
