"""What taut makes of taut-noise: a stand-in program prints what a test wants it to."""

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taut.binaries.noise import NoiseRequest, measure_noise, parse_noise, read_periods
from taut.core.errors import InputError, MissingToolError, TautError
from taut.records.layout import FILE_HEADER, HISTOGRAM, SERIES, VERSION, RecordKind
from waiting import state_of, wait_for

CORE = {
    "core": 3,
    "samples": 1000,
    "duration_ns": 2_000_000,
    "period_ns": {"min": 7, "p50": 9, "p99.9999": 5000},
    "over": [{"threshold_ns": 1000, "gaps": 4}, {"threshold_ns": 10_000, "gaps": 1}],
    "gaps": {"n": 4, "total_ns": 50_000, "not_logged": 2},
    "worst": {"ns": 40_000, "at_ns": 77},
}
DOCUMENT = {
    "stop": "duration",
    "duration_ns": 1_000_000,
    "threshold_ns": 1000,
    "priority": 0,
    "cores": [CORE],
}
REQUEST = NoiseRequest(duration_ns=1_000_000)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a shell script in the place of taut-noise; $0.arguments keeps what it was given."""
    path = tmp_path / "taut-noise"
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    def write(text: str) -> Path:
        path.write_text(f'#!/bin/sh\necho "$@" >"$0.arguments"\n{text}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


def printing(document: dict) -> str:
    return f"cat <<'END'\n{json.dumps(document)}\nEND"


def test_a_document_becomes_values():
    noise = parse_noise(DOCUMENT)

    assert not noise.was_interrupted
    (core,) = noise.cores
    assert (core.core, core.samples, core.n_gaps, core.not_logged) == (3, 1000, 4, 2)
    assert core.over == {1000: 4, 10_000: 1}
    assert core.period_ns["p50"] == 9
    assert (core.worst_ns, core.worst_at_ns) == (40_000, 77)
    assert core.stolen_share == 0.025


def test_a_core_that_never_polled_lost_no_share_of_nothing():
    row = {**CORE, "duration_ns": 0, "gaps": {"n": 0, "total_ns": 0, "not_logged": 0}}

    assert parse_noise({**DOCUMENT, "cores": [row]}).cores[0].stolen_share == 0


def test_what_is_asked_reaches_the_program(program, tmp_path: Path):
    cores = [{**CORE, "core": core} for core in (0, 1, 2, 8)]
    understood = {"duration_ns": 5, "threshold_ns": 700, "priority": 9, "cores": cores}
    path = program(printing({**DOCUMENT, **understood}))

    measure_noise(
        NoiseRequest(
            duration_ns=5, threshold_ns=700, cores=(0, 1, 2, 8), priority=9, out=tmp_path / "x"
        )
    )

    words = Path(f"{path}.arguments").read_text().split()
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options == {
        "--duration": "5ns",
        "--threshold": "700ns",
        "--priority": "9",
        "--cores": "0-2,8",
        "--out": str(tmp_path / "x"),
    }


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"duration_ns": 7}, "duration_ns 7, understood 1000000"),
        ({"threshold_ns": 7}, "threshold_ns 7, understood 1000"),
        ({"priority": 7}, "priority 7, understood 0"),
        ({"cores": (3, 4)}, r"cores \[3, 4\], understood \[3\]"),
    ],
)
def test_another_measurement_than_the_one_asked_for_is_an_error(
    program, asked: dict[str, int | tuple[int, ...]], words: str
):
    program(printing(DOCUMENT))

    with pytest.raises(TautError, match=f"^taut-noise: asked for {words};"):
        measure_noise(replace(REQUEST, **asked))


def test_bad_input_is_passed_on_in_one_line(program):
    program("echo 'taut-noise: --cores: core 9 is not online' >&2; exit 2")

    with pytest.raises(InputError, match="noise: --cores: core 9 is not online"):
        measure_noise(REQUEST)


@pytest.mark.parametrize("text", ["exit 1", "echo '{'", "echo '[]'", "echo sad >&2; exit 3"])
def test_a_program_that_fails_is_said_with_its_command(program, text: str):
    program(text)

    with pytest.raises(TautError, match=r"noise: .*; run .*taut-noise --duration") as raised:
        measure_noise(REQUEST)

    assert not isinstance(raised.value, InputError)


def test_without_the_program_the_remedy_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    with pytest.raises(MissingToolError, match="make build"):
        measure_noise(REQUEST)


def test_an_interrupt_brings_what_was_measured(program, tmp_path: Path):
    started = tmp_path / "started"
    interrupted = {**DOCUMENT, "stop": "signal", "duration_ns": 10**9}
    program(
        f"trap 'kill $!' INT\nsleep 120 &\ntouch {started}\nwait\n{printing(interrupted)}\nexit 130"
    )
    code = (
        "from taut.binaries.noise import *\n"
        "noise = measure_noise(NoiseRequest(duration_ns=10**9))\n"
        "print(noise.was_interrupted, noise.cores[0].n_gaps)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    # It has started the program, and sleeps until that says something.
    wait_for("a start", lambda: started.exists() and state_of(process.pid) == "S")
    os.kill(process.pid, signal.SIGINT)

    out, _ = process.communicate(timeout=60)

    assert out == "True 4\n"


def test_periods_come_back_in_nanoseconds(tmp_path: Path):
    header = np.zeros(1, FILE_HEADER)
    header["magic"], header["version"], header["kind"] = b"TAUTREC", VERSION, RecordKind.HISTOGRAM
    header["record_size"], header["nominal_tsc_hz"] = HISTOGRAM.itemsize, 2_000_000_000
    header["first"]["tsc"], header["last"]["tsc"] = 1000, 2_000_001_000
    header["last"]["mono_raw_ns"] = 1_000_000_000
    rows = np.zeros(2, HISTOGRAM)
    rows["value_ticks"], rows["count"] = [40, 2_000_000], [5, 1]
    rows["series"] = SERIES.index("poll_period")
    header["n_records"] = 2
    (tmp_path / "histogram_3.bin").write_bytes(header.tobytes() + rows.tobytes())

    values, counts = read_periods(tmp_path, 3)

    assert values.tolist() == [20, 1_000_000]
    assert counts.tolist() == [5, 1]
