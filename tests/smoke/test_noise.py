"""taut-noise on the cores there are: every period accounted for, every gap true."""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from stops import stop_for
from taut.binaries.noise import read_periods
from taut.core.binaries import find_binary
from taut.records.layout import GAP_THREADS, RecordKind
from taut.records.raw_file import open_raw
from waiting import ran_by_thread, wait_for, wait_until_ran

pytestmark = [pytest.mark.smoke, pytest.mark.beside]
CORES = sorted(os.sched_getaffinity(0))


def run(*arguments: str, status: int = 0, **options) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(find_binary("taut-noise")), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
    assert done.returncode == status, done.stderr
    return done


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start it, and wait until it polls on every core it was given."""
    command = [str(find_binary("taut-noise")), "--duration", "120s", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    n = len(CORES) if "--cores" in arguments else 1
    wait_for("polling threads", lambda: sum(s > 0.1 for s in polled_s(process.pid)) >= n)
    return process


def polled_s(pid: int) -> list[float]:
    """How long each of its threads polled: the first one waits for them."""
    return [ran_s for tid, ran_s in ran_by_thread(pid).items() if tid != pid]


def end(process: subprocess.Popen[str], number: signal.Signals) -> dict:
    """End it by a signal, and give its document."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(out)
    assert document["stop"] == "signal"
    return document


def gaps_of(folder: Path, core: int) -> np.ndarray:
    return np.concatenate(list(open_raw(folder / f"gaps_{core}.bin", RecordKind.GAP).chunks()))


def test_files_and_document_tell_the_same(tmp_path: Path):
    cores = ",".join(map(str, CORES))
    done = run("--cores", cores, "--duration", "300ms", "--out", str(tmp_path))

    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "noise.json").read_text())
    assert [row["core"] for row in document["cores"]] == CORES
    for row in document["cores"]:
        values, counts = read_periods(tmp_path, row["core"])
        assert counts.sum() == row["samples"]
        gaps = gaps_of(tmp_path, row["core"])
        assert len(gaps) == row["gaps"]["n"] - row["gaps"]["not_logged"]
        assert (gaps["thread"] == GAP_THREADS.index("noise")).all()
        ticks = (gaps["end_tsc"] - gaps["start_tsc"]).astype(np.float64)
        ns = 1e9 / document["clock"]["nominal_tsc_hz"]
        assert ticks.sum() * ns == pytest.approx(row["gaps"]["total_ns"], abs=2)
        assert ticks.max() * ns == pytest.approx(row["worst"]["ns"], abs=1)
        over = {entry["threshold_ns"]: entry["gaps"] for entry in row["over"]}
        assert over[1000] == row["gaps"]["n"]
        assert list(over.values()) == sorted(over.values(), reverse=True)
        # Periods below the threshold and gaps together are the time polled.
        assert (values * counts).sum() == pytest.approx(row["duration_ns"], rel=0.1)


@pytest.mark.timing
def test_a_stopped_process_is_a_gap_of_that_length_at_that_time(tmp_path: Path):
    process = start("--out", str(tmp_path))
    stop_for(process.pid, 100_000_000)
    wait_until_ran(process.pid, 0.1)
    document = end(process, signal.SIGINT)

    (row, *_) = document["cores"]
    assert row["worst"]["ns"] >= 95_000_000
    worst = max(gaps_of(tmp_path, row["core"]), key=lambda gap: gap["end_tsc"] - gap["start_tsc"])
    ns = 1e9 / document["clock"]["nominal_tsc_hz"]
    at_ns = (int(worst["start_tsc"]) - document["start_tsc"]) * ns
    assert at_ns == pytest.approx(row["worst"]["at_ns"], abs=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("extra", [(), ("--cores", ",".join(map(str, CORES)))])
def test_a_signal_ends_it_early_with_what_was_measured(tmp_path: Path, number, extra):
    document = end(start("--out", str(tmp_path), *extra), number)

    for row in document["cores"]:
        assert 0 < row["duration_ns"] < 120e9
        assert len(gaps_of(tmp_path, row["core"])) == row["gaps"]["n"]


@pytest.mark.alone
@pytest.mark.root
def test_a_real_time_poller_on_every_core_still_hears_ctrl_c():
    process = start("--priority", "1", "--cores", ",".join(map(str, CORES)))

    assert end(process, signal.SIGINT)["priority"] == 1


def test_gaps_beyond_the_log_are_counted(tmp_path: Path):
    done = run("--duration", "300ms", "--threshold", "100ns", "--records", "1",
               "--out", str(tmp_path))  # fmt: skip

    (row, *_) = json.loads(done.stdout)["cores"]
    assert row["gaps"]["not_logged"] == row["gaps"]["n"] - 1
    assert len(gaps_of(tmp_path, row["core"])) == 1


BAD = [
    (("--cores", "4711"), "--cores 4711"),
    (("--cores", "1023"), "core 1023 is not online"),
    (("--cores", "x"), "--cores x"),
    (("--duration", "10"), "duration"),
    (("--duration", "0s"), "duration"),
    (("--threshold", "1ns"), "threshold"),
    (("--priority", "100"), "priority"),
    (("--records", "0"), "records"),
    (("--out", "/proc/nowhere"), "/proc/nowhere"),
    (("--out", "/etc/hostname"), "/etc/hostname"),
    (("--what", "1"), "--what"),
]


@pytest.mark.parametrize(("arguments", "word"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_line_and_status_2(arguments, word):
    done = run(*arguments, status=2)

    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("taut-noise: ")
    assert word in done.stderr


def test_a_full_disk_is_said(tmp_path: Path):
    done = run(
        "--duration", "100ms", "--out", str(tmp_path), status=2,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256)),
    )  # fmt: skip

    assert "not written: File too large" in done.stderr
    assert not (tmp_path / "noise.json").exists()
