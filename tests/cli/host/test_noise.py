import json
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
import typer
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from typer.testing import CliRunner

from host_tree import tree
from taut.binaries.noise import Noise, NoiseRequest, parse_noise
from taut.cli.host import noise as module
from taut.core.cpus import CpuSet, cpuset_cores, format_cpu_list
from taut.core.errors import InputError, InterruptedRun
from taut.testbed.core_locks import measuring_on


def document(stop: str, *cores: int) -> dict:
    return {
        "stop": stop,
        "threshold_ns": 1000,
        "priority": 0,
        "cores": [
            {
                "core": core,
                "samples": 1000 + core,
                "duration_ns": 2_000_000_000,
                "period_ns": {"min": 7, "p50": 9, "p99.9999": 5000},
                "over": [{"threshold_ns": 1000, "gaps": 40}, {"threshold_ns": 10_000, "gaps": 6}],
                "gaps": {"n": 40, "total_ns": 50_000_000, "not_logged": 0},
                "worst": {"ns": 123_000, "at_ns": 1_500_000_000},
            }
            for core in cores
        ],
    }


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with every core that is asked for here."""
    host = tree(tmp_path / "machine", {"/sys/devices/system/cpu/online": "0-1022\n"})
    monkeypatch.setattr(module, "Host", lambda: host)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[CpuSet]:
    """Hold no core of this machine, where tests beside this one measure; keep what was asked."""
    cores: list[CpuSet] = []

    def hold(wanted: CpuSet, **_: object) -> AbstractContextManager[None]:
        cores.append(wanted)
        return nullcontext()

    monkeypatch.setattr(module, "measuring_on", hold)
    return cores


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, held: list[CpuSet]) -> list[NoiseRequest]:
    """Answer for taut-noise; keep what was asked."""
    requests: list[NoiseRequest] = []

    def measure(request: NoiseRequest) -> Noise:
        assert held == [request.cores]
        requests.append(request)
        return parse_noise(document("duration", *request.cores))

    monkeypatch.setattr(module, "measure_noise", measure)
    return requests


def run(*arguments: str):
    app = typer.Typer()
    app.command()(module.noise)
    return CliRunner().invoke(app, arguments)


def test_options_become_a_request(asked: list[NoiseRequest], tmp_path: Path) -> None:
    out = str(tmp_path / "raw")

    run("--cores", "2-3", "--duration", "250ms", "--threshold", "5us", "--priority", "7",
        "--out", out)  # fmt: skip

    assert asked == [NoiseRequest(250_000_000, 5000, (2, 3), 7, Path(out))]


def test_json_is_one_document(asked: list[NoiseRequest]) -> None:
    found = json.loads(run("--cores", "1,3", "--json").stdout)

    assert [core["core"] for core in found["cores"]] == [1, 3]
    first = found["cores"][0]
    assert first["gaps_over_ns"] == {"1000": 40, "10000": 6}
    assert first["total_percent"] == 2.5
    assert (first["max_ns"], first["max_at_ns"]) == (123_000, 1_500_000_000)
    assert first["period_ns"]["p99.9999"] == 5000


@pytest.mark.parametrize("cores", ["0", "0-3", "0-15"])
def test_the_table_has_a_column_of_every_core_and_cuts_nothing(
    asked: list[NoiseRequest], cores: str
) -> None:
    said = run("--cores", cores).stdout

    assert "…" not in said
    wanted = [str(core) for core in asked[0].cores]
    heads = [line.split()[1:] for line in said.splitlines() if line.split()[:1] == ["core"]]
    assert [core for head in heads for core in head] == wanted
    over = [line for line in said.splitlines() if "gaps over 10 µs" in line]
    assert " ".join(over).split().count("6") == len(wanted)
    assert "123 µs" in said
    assert "1.500 s" in said


def test_hdr_histograms_hold_every_period(
    asked: list[NoiseRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = (np.array([9, 20, 5_000_000]), np.array([1000, 30, 2]))
    monkeypatch.setattr(module, "read_periods", lambda folder, core: counts)
    folder = tmp_path / "new" / "hdr"

    run("--cores", "3", "--hdr", str(folder))

    reader = HistogramLogReader(str(folder / "core_3.hlog"), HdrHistogram(1, 10**9, 3))
    histogram = reader.get_next_interval_histogram()
    assert histogram.get_total_count() == 1032
    assert histogram.get_value_at_percentile(50) == 9
    assert histogram.get_max_value() == pytest.approx(5_000_000, rel=1e-3)
    assert "2.000" in (folder / "core_3.hlog").read_text().splitlines()[-1].split(",")[1]
    assert "TotalCount     =     1032.000" in (folder / "core_3.hgrm").read_text()
    assert asked[0].out is not None
    assert not asked[0].out.exists()


@pytest.mark.usefixtures("held")
def test_an_interrupt_shows_what_there_is_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = parse_noise(document("signal", 1))
    monkeypatch.setattr(module, "measure_noise", lambda request: noise)

    result = run("--json")

    assert json.loads(result.stdout)["interrupted"] is True
    assert isinstance(result.exception, InterruptedRun)


@pytest.mark.usefixtures("held")
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = run("--hdr", str(tmp_path / "file"))

    assert "--hdr" in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("is_isolated", [True, False])
def test_the_cores_that_are_polled_on_by_default_are_held(
    asked: list[NoiseRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_isolated: bool
) -> None:
    mine = cpuset_cores()
    # No machine has the other one for this process.
    listed = f"{mine[0]},1023\n" if is_isolated else "\n"
    host = tree(tmp_path / "isolated", {"/sys/devices/system/cpu/isolated": listed})
    monkeypatch.setattr(module, "Host", lambda: host)

    run()

    assert asked[0].cores == (mine[:1] if is_isolated else mine[1:] or mine)


@pytest.mark.usefixtures("asked")
def test_isolated_cores_are_chosen_without_a_visit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = format_cpu_list(cpuset_cores())
    host = tree(tmp_path / "isolated", {"/sys/devices/system/cpu/isolated": f"{listed}\n"})
    monkeypatch.setattr(module, "Host", lambda: host)
    before = os.sched_getaffinity(0)
    bound: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: bound.append(set(cores)))

    run()

    assert [cores for cores in bound if len(cores) == 1 and cores != before] == []


def test_a_core_on_which_somebody_measures_is_not_polled_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "measure_noise", lambda _: pytest.fail("it polled"))
    # No machine has it: no run of another test holds it.
    with measuring_on([1019]):
        result = run("--cores", "1019", "--hdr", str(tmp_path / "hdr"))

    assert isinstance(result.exception, InputError)
    assert "core 1019" in str(result.exception)
    assert not (tmp_path / "hdr").exists()


def test_a_mistake_leaves_no_folder(tmp_path: Path) -> None:
    result = run("--hdr", str(tmp_path / "hdr"), "--duration", "5")

    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "hdr").exists()


@pytest.mark.usefixtures("asked")
def test_a_core_that_is_not_online_is_refused_before_any_is_held(held: list[CpuSet]) -> None:
    result = run("--cores", "2,1023")

    assert isinstance(result.exception, InputError)
    assert str(result.exception) == "core 1023 is not online; online are 0-1022"
    assert held == []
