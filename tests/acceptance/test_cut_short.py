"""An analysis cut short, by `kill -9` or a full disk: no half file under a final name, no scratch.

What a killed one had no time to remove, the next start does.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from acceptance_run import TAUT
from killed import killed_at
from made_captures import made_pair, pcap_bytes, write_capture
from made_run import VARIANTS, make_run
from made_trace import MadeTrace, held, normal, write_trial
from servers import missing_spark
from taut.testbed.carriers import carriers
from taut.testbed.scratch import VARIABLE
from waiting import wait_for

pytestmark = [pytest.mark.acceptance, pytest.mark.beside]

ASK_SPARK = """
import pyarrow as pa
from taut.storage.engines import open_engine
with open_engine("spark") as engine:
    engine.load({"t": pa.table({"x": [1]})})
    print(engine.query("SELECT x FROM t ORDER BY x").to_pylist())
"""
OUR_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'taut%' ORDER BY nspname"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is not analysed; with trials enough for helpers."""
    return make_run(tmp_path_factory.mktemp("made") / "run", VARIANTS[:2], repetitions=2)


@pytest.fixture(scope="module")
def expected(made: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What its analysis gives when nobody kills it."""
    run = tmp_path_factory.mktemp("expected") / "run"
    shutil.copytree(made, run)
    subprocess.run([*TAUT, "report", str(run)], check=True, capture_output=True)
    return (run / "results.json").read_text()


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, for the programs that a test starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    # Not the settings of a cluster that other tests made: they send Spark's files elsewhere.
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    return folder


def said(process: subprocess.Popen[bytes]) -> str:
    """Give the last lines that an ended process wrote on standard error."""
    return process.communicate()[1].decode()[-2000:]


@contextmanager
def taut(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A taut that is killed when the block is left, alone: its children have to notice."""
    with subprocess.Popen(
        [*TAUT, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
            assert process.poll() is None, f"it ended before it was killed: {said(process)}"
        finally:
            process.send_signal(signal.SIGKILL)


KillReport = Callable[..., None]
MOST_SIGHTS = 10


@pytest.fixture
def kill_report(made: Path, run: Path) -> KillReport:
    """Kill a report of the run at a moment; one that was past it before it stood begins anew."""

    def kill(moment: str, is_there: Callable[[], object], *options: str) -> None:
        for _ in range(MOST_SIGHTS):
            if killed_at(moment, is_there, [*TAUT, "report", str(run), *options]):
                return
            shutil.rmtree(run)
            shutil.copytree(made, run)
        pytest.fail(f"{moment}: {MOST_SIGHTS} reports were past it before they were stopped")

    return kill


def done(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TAUT, *map(str, arguments)], capture_output=True, text=True, timeout=200
    )


MOMENTS: dict[str, Callable[[Path, Path], object]] = {
    "at its first scratch": lambda run, temporary: list(temporary.glob("taut-*/*")),
    "with a trial analysed": lambda run, temporary: list(run.glob("trials/*/latency.hlog")),
    "before its report": lambda run, temporary: (run / "summary.json").is_file(),
}


@pytest.mark.parametrize(
    ("moment", "engine"),
    [
        ("at its first scratch", ()),
        ("with a trial analysed", ("--engine", "duckdb")),
        ("before its report", ()),
        pytest.param("at its first scratch", ("--engine", "duckdb"), marks=pytest.mark.long),
        pytest.param("with a trial analysed", (), marks=pytest.mark.long),
        pytest.param("before its report", ("--engine", "duckdb"), marks=pytest.mark.long),
    ],
)
def test_a_killed_report_leaves_nothing_half_and_the_next_one_nothing_at_all(
    run: Path,
    temporary: Path,
    kill_report: KillReport,
    expected: str,
    moment: str,
    engine: tuple[str, ...],
) -> None:
    kill_report(moment, lambda: MOMENTS[moment](run, temporary), *engine)
    assert_whole(run)

    again = done("report", run, *engine)

    assert again.returncode == 0, again.stderr
    assert (run / "results.json").read_text() == expected
    assert_whole(run)
    assert list(run.rglob(".tmp-*")) == []
    assert list(temporary.iterdir()) == []


def test_doctor_names_what_a_killed_report_left_and_removes_it(
    temporary: Path, kill_report: KillReport
) -> None:
    kill_report("scratch of the count", lambda: list(temporary.glob("taut-count-*/*")))
    left = sorted(map(str, temporary.iterdir()))

    named = json.loads(done("doctor", "--json").stdout)["left_behind"]
    cleaned = json.loads(done("doctor", "--clean", "--json").stdout)

    assert left
    assert [line.split()[2] for line in named if "scratch folder" in line] == left
    assert [line.split()[2] for line in cleaned["removed"] if "scratch folder" in line] == left
    assert list(temporary.iterdir()) == []


def test_a_report_killed_with_postgres_leaves_nothing_after_the_next(
    run: Path, temporary: Path, kill_report: KillReport, postgres_url: str, expected: str
) -> None:
    where = ("--engine", "postgres", "--engine-url", postgres_url)

    def schemas() -> list[str]:
        with psycopg.connect(postgres_url) as connection:
            return [name for (name,) in connection.execute(OUR_SCHEMAS).fetchall()]

    def with_a_trial_analysed() -> bool:
        return bool(list(run.glob("trials/*/latency.hlog")) and schemas())

    kill_report("a trial analysed", with_a_trial_analysed, *where)
    left = schemas()
    assert_whole(run)

    again = done("report", run, *where)

    assert again.returncode == 0, again.stderr
    assert len(left) == 1
    assert schemas() == []
    assert (run / "results.json").read_text() == expected
    assert list(run.rglob(".tmp-*")) == []
    assert list(temporary.iterdir()) == []


NO_SPARK = pytest.mark.skipif(missing_spark() is not None, reason=missing_spark() or "")


@NO_SPARK
@pytest.mark.parametrize(
    "begun", ["taut-spark-*/log", pytest.param("taut-spark-*/blockmgr-*", marks=pytest.mark.long)]
)
def test_a_report_killed_with_spark_leaves_neither_java_nor_files(
    run: Path, temporary: Path, begun: str
) -> None:
    def java() -> list[int]:
        return [pid for folder in temporary.iterdir() for pid in carriers(VARIABLE, str(folder))]

    with taut("report", run, "--engine", "spark") as report:
        # Java takes its time where others start theirs.
        wait_for(begun, lambda: list(temporary.glob(begun)) or report.poll() is not None, 200)
        assert report.poll() is None, said(report)
        process: int = wait_for("Java", java)[0]
        # One that does not notice that taut has ended.
        os.kill(process, signal.SIGSTOP)
    assert_whole(run)

    cleaned = done("doctor", "--clean")

    assert "scratch folder" in cleaned.stdout
    assert list(temporary.iterdir()) == []
    wait_for("an end of Java", lambda: not Path(f"/proc/{process}").exists())


@NO_SPARK
@pytest.mark.alone
@pytest.mark.long
def test_spark_that_ended_well_leaves_no_file(temporary: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    asked = subprocess.run(
        [sys.executable, "-c", ASK_SPARK],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=200,
    )

    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "[{'x': 1}]\n", "")
    assert list(temporary.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def fill(disk: Path, room_kb: int) -> Path:
    """Leave that much room on a disk; give the file that takes the rest."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    filler.write_bytes(bytes(max(free - room_kb * 1024, 0)))
    return filler


def assert_refused(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "No space left on device" in ended.stderr
    assert "make room" in ended.stderr


@pytest.mark.root
@pytest.mark.parametrize("room_kb", [0, 300])
def test_a_report_on_a_full_disk_is_one_line_and_leaves_what_was_there(
    small_disk: Path, made: Path, temporary: Path, expected: str, room_kb: int
) -> None:
    run = Path(shutil.copytree(made, small_disk / "run"))
    filler = fill(small_disk, room_kb)

    refused = done("report", run)

    assert_refused(refused)
    assert str(run) in refused.stderr
    assert_whole(run)
    assert list(run.rglob(".tmp-*")) == []
    assert list(temporary.iterdir()) == []

    filler.unlink()
    assert done("report", run).returncode == 0
    assert (run / "results.json").read_text() == expected


@pytest.mark.root
@pytest.mark.parametrize("room_kb", [0, 60])
def test_a_report_without_room_for_scratch_is_one_line(
    small_disk: Path, run: Path, monkeypatch: pytest.MonkeyPatch, room_kb: int
) -> None:
    filler = fill(small_disk, room_kb)
    monkeypatch.setenv("TMPDIR", str(small_disk))

    refused = done("report", run)

    assert_refused(refused)
    assert str(small_disk) in refused.stderr
    assert_whole(run)
    assert list(small_disk.iterdir()) == [filler]


@pytest.mark.root
@pytest.mark.parametrize("where", ["scratch", "out", "parquet"])
def test_captures_analysed_on_a_full_disk_are_one_line_and_leave_nothing(
    small_disk: Path,
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    pair = made_pair(20_000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(pair.ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(pair.egress))
    filler = fill(small_disk, 0 if where == "parquet" else 8)
    more: list[object] = ["--json"]
    if where == "scratch":
        monkeypatch.setenv("TMPDIR", str(small_disk))
    elif where == "out":
        more += ["--out", small_disk / "run"]
    else:
        more += ["--parquet", small_disk / "packets.parquet"]

    refused = done("analyze", before, after, *more)

    assert_refused(refused)
    assert list(small_disk.iterdir()) == [filler]
    assert list(temporary.iterdir()) == []


@pytest.mark.root
def test_an_explanation_drawn_on_a_full_disk_is_one_line(
    small_disk: Path, tmp_path: Path, temporary: Path
) -> None:
    start, end = 10_000_000, 10_060_000
    rows = held(normal(3_000), start, end)
    write_trial(tmp_path, rows, [(start, end, "forwarder")], MadeTrace(), {"status": "whole"})
    filler = fill(small_disk, 0)
    drawing = small_disk / "late.perfetto"

    refused = done("explain", tmp_path, "--perfetto", drawing)

    assert_refused(refused)
    assert str(drawing) in refused.stderr
    assert list(small_disk.iterdir()) == [filler]
    assert list(temporary.iterdir()) == []


def assert_whole(run: Path) -> None:
    """What has a final name can be read to its end."""
    for path in run.rglob("*"):
        if not path.is_file() or path.name.startswith(".tmp-"):
            continue
        match path.suffix:
            case ".parquet":
                pq.read_table(path).validate(full=True)
            case ".json":
                json.loads(path.read_text())
            case ".html":
                assert path.read_text().endswith("</html>")
            case ".hgrm":
                assert path.read_text().splitlines()[-1].startswith("#[Buckets")
            case ".hlog":
                assert path.read_text().endswith("\n")
