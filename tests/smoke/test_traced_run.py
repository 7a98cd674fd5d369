"""A run traces by default: kernel events lie beside the packets, on their clock."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from acceptance_run import TAUT, child_of, in_a_trial
from taut.core.binaries import find_binary
from taut.experiment.room import free_bytes
from taut.host.host import Host
from taut.testbed.leftovers import find_leftovers
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.root, pytest.mark.beside]

SPEC = """
name = "traced"
duration = "1s"
warm_up = "100ms"
floor = false
[[device]]
driver = "taut_forward"
link = "memif"
[[traffic]]
rates = ["10kpps"]
"""
SHORT = ("--set", "duration=100ms")
"""Of trials that cannot be traced."""


def command(tmp_path: Path, *arguments: str, spec: str = SPEC) -> list[str]:
    file = tmp_path / "traced.toml"
    file.write_text(spec)
    return [*TAUT, "run", str(file), "--wait", "--out", str(tmp_path / "run"), *arguments]


def run(
    tmp_path: Path, *arguments: str, draw: bool = False, spec: str = SPEC, **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[dict]]:
    """Run it; give how it ended and every trial.json."""
    done = subprocess.run(
        command(tmp_path, *arguments, *([] if draw else ["--no-report"]), spec=spec),
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, **environment},
    )
    paths = sorted((tmp_path / "run").glob("trials/*/trial.json"))
    return done, [json.loads(path.read_text()) for path in paths]


@pytest.fixture
def broken(tmp_path: Path) -> dict[str, str]:
    """An environment where taut-trace refuses to arm anything but a trace of a millisecond."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("taut-generate", "taut-forward", "taut-clock"):
        (programs / name).symlink_to(find_binary(name))
    (programs / "taut-trace").write_text(
        '#!/bin/sh\nif [ -n "$PROBE_TOO" ] || [ "${5}" != --duration ]; then\n'
        "  echo 'taut-trace: no room for a buffer' >&2; exit 2\nfi\n"
    )
    (programs / "taut-trace").chmod(0o755)
    return {"TAUT_BIN_DIR": str(programs)}


@pytest.mark.alone
def test_events_of_both_cores_surround_the_packets(tmp_path: Path) -> None:
    done, [meta] = run(tmp_path, "--json", draw=True)

    assert done.returncode == 0, done.stderr
    if meta["trace"]["mode"] == "off":
        pytest.skip(meta["trace"]["why_not"])
    assert meta["trace"] == {"mode": "continuous", "why_not": None}
    out = tmp_path / "run"
    [trial] = (out / "trials").iterdir()
    events = pq.read_table(trial / "events.parquet")
    packets = pq.read_table(trial / "packets.parquet")
    cores = {meta["cores"]["generator"], meta["cores"]["device"]}
    trace = json.loads((trial / "trace.json").read_text())
    assert set(trace["cores"]) == cores
    # On few cores reading takes the generator's: what fits into memory is read when all is over.
    assert trace["cost"]["pages_read"] > trace["cost"]["pages_read_live"] == 0
    # Ticks, if nothing else: both cores have events, from before the first packet to the last.
    assert cores <= set(events["cpu"].to_pylist())
    assert pc.min(events["time_ns"]).as_py() < pc.min(packets["sent_ns"]).as_py()
    assert pc.max(events["time_ns"]).as_py() > pc.max(packets["sent_ns"]).as_py()

    assert set(map(int, trace["counters"]["before"]["threads"])) <= set(meta["dut"]["threads"])

    [result] = json.loads((out / "results.json").read_text())["trials"]
    assert result["explanation"]["causes"]
    assert result["explanation"]["vetoed"]["generator_stalls"] == 0
    # The model the verdicts rest on is kept with them.
    calibration = result["explanation"]["calibration"]
    assert calibration["watched_ns"] > 0
    assert {"entry_and_exit", "empty_gaps_per_second"} <= calibration.keys()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["calibration"] == {trial.name: calibration}
    assert meta["generator"]["clock"]["residual_ns"] >= 0
    assert "Why packets were late" in (out / "report.html").read_text()

    argv = [*TAUT, "explain", str(out), "--over", "p99", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280)

    assert done.returncode == 0, done.stderr
    [explained] = json.loads(done.stdout)["trials"]
    # Every packet above the threshold has one verdict.
    assert explained["tail_packets"] > 0
    assert sum(cause["tail_share"] for cause in explained["causes"]) == pytest.approx(1)
    assert explained["worst"][0]["line"]


@pytest.mark.alone
@pytest.mark.parametrize(
    "device",
    [
        'driver = "linux_bridge"',
        'driver = "linux_bridge"\noptions = { placement = "threaded" }',
        'driver = "taut_forward"\nlink = "xdp"',
        'driver = "taut_forward"\nlink = "virtio"\noptions = { wait = "interrupt" }',
    ],
    ids=["bridge", "napi", "xdp", "interrupt"],
)
def test_where_the_kernel_handles_each_packet_no_event_is_lost_and_none_read_meanwhile(
    tmp_path: Path, device: str
) -> None:
    if free_bytes(Host()) < 4 << 30:
        pytest.skip("less than 4 GiB free: what does not fit into a sixteenth is read meanwhile")
    spec = SPEC.replace('driver = "taut_forward"\nlink = "memif"', device)
    done, [meta] = run(tmp_path, spec=spec.replace("10kpps", "100kpps"))

    assert done.returncode == 0, done.stderr
    if meta["trace"]["mode"] == "off":
        pytest.skip(meta["trace"]["why_not"])
    [trial] = (tmp_path / "run/trials").iterdir()
    trace = json.loads((trial / "trace.json").read_text())
    assert trace["lost"] == []
    assert trace["cost"]["pages_read_live"] == 0


@pytest.mark.alone
def test_tail_keeps_events_around_late_packets_and_can_be_explained(tmp_path: Path) -> None:
    done, [meta] = run(tmp_path, "--trace", "tail", "--set", "duration=3s", "--json")

    if done.returncode == 2:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert meta["trace"] == {"mode": "tail", "why_not": None}
    [trial] = (tmp_path / "run/trials").iterdir()
    assert json.loads((trial / "trace.json").read_text())["mode"] == "tail"
    assert pq.read_metadata(trial / "events.parquet").num_rows > 0
    [result] = json.loads(done.stdout)["trials"]
    assert sum(cause["tail_share"] for cause in result["explanation"]["causes"]) == pytest.approx(1)


def test_no_trace_is_in_the_manifest_and_leaves_packets_alone(tmp_path: Path) -> None:
    done, [meta] = run(tmp_path, "--no-trace")

    assert done.returncode == 0, done.stderr
    assert meta["trace"] == {"mode": "off", "why_not": "not asked for"}
    assert not list((tmp_path / "run").glob("trials/*/events.parquet"))
    spec = json.loads((tmp_path / "run/manifest.json").read_text())["spec"]
    assert spec["overrides"] == ["trace=off"]
    assert spec["resolved"]["trace"] == "off"


def test_a_machine_that_cannot_trace_is_told_of_once_and_measured(
    tmp_path: Path, broken: dict[str, str]
) -> None:
    done, metas = run(tmp_path, "--set", "repetitions=2", *SHORT, **broken, PROBE_TOO="1")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no room for a buffer") == 1
    off = {"mode": "off", "why_not": "taut-trace: no room for a buffer"}
    assert [meta["trace"] for meta in metas] == [off, off]


def test_a_trace_that_will_not_start_costs_the_trial_nothing_else(
    tmp_path: Path, broken: dict[str, str]
) -> None:
    done, [meta] = run(tmp_path, *SHORT, **broken)

    assert done.returncode == 0, done.stderr
    assert "not traced: taut-trace: no room for a buffer" in done.stderr
    assert meta["trace"] == {"mode": "off", "why_not": "taut-trace: no room for a buffer"}
    assert meta["status"] == "whole"


def test_a_mode_by_name_is_refused_before_anything_is_measured(
    tmp_path: Path, broken: dict[str, str]
) -> None:
    done, metas = run(tmp_path, "--trace", "tail", **broken, PROBE_TOO="1")

    assert done.returncode == 2
    assert done.stderr == (
        "taut: trace = tail: taut-trace: no room for a buffer; or measure without: --no-trace\n"
    )
    assert metas == []
    assert not (tmp_path / "run").exists()


def test_ctrl_c_takes_the_trace_away(tmp_path: Path) -> None:
    before = leftovers()
    argv = command(tmp_path, "--set", "duration=200s", "--no-report")
    taut = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        in_a_trial(tmp_path / "run", taut, "taut-generate")
        if child_of(taut.pid, "taut-trace") is None:
            pytest.skip("this machine cannot trace")
        taut.send_signal(signal.SIGINT)
        _, errors = taut.communicate(timeout=120)
    finally:
        taut.kill()
        taut.wait()

    assert taut.returncode == 130, errors
    new = leftovers() - before
    # Others may trace: what they leave goes with their next start.
    wait_for(f"an end of {new}", lambda: not new & leftovers(), 90)


def leftovers() -> set[Path]:
    return {leftover.path for leftover in find_leftovers()}
