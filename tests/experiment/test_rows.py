"""Rows of a soak, taken from what a made-up generator shows."""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np

from taut.experiment.cores import Cores
from taut.experiment.plan import make_plan
from taut.experiment.rows import Rows
from taut.experiment.spec import parse_spec
from taut.records import layout
from taut.records.documents.soak import Row, SegmentStart
from taut.records.live import COUNTED, LIVE_FILE

TEXT = """
name = "soak"
duration = "10s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["1kpps"]
"""
COUNTERS = (
    *("matched", "lost", "unsent", "cold", "unsent_cold", "lost_cold", "void", "void_cold"),
    *COUNTED,
)
N_BUCKETS = 8


def show(path: Path) -> None:
    """Write what a generator shows from its first departure on, until something comes back."""
    header = np.zeros(1, layout.LIVE)
    numbers = header.nbytes
    n = len(COUNTERS) + 4 + 2 * N_BUCKETS
    fields = {
        "magic": b"TAUTLIV",
        "version": 1,
        "n_directions": 1,
        "n_counters": len(COUNTERS),
        "tsc_hz": 1_000_000_000,
        "epoch_tsc": 1,
        "duration_ns": 3_600_000_000_000,
        "gaps_at": numbers + 8 * len(COUNTERS),
        "names_at": numbers + 8 * n,
        "n_series": 1,
        "n_buckets": N_BUCKETS,
        "exact_bits": 2,
        "sub_bits": 1,
    }
    for name, value in fields.items():
        header[name] = value
    header["first"]["tsc"] = 1
    header["first"]["mono_raw_ns"] = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    header["counters_at"][0][0] = numbers
    histograms = int(header["gaps_at"][0]) + 8 * 4
    header["histograms_at"][0][0] = (histograms, histograms + 8 * N_BUCKETS)
    names = "\n".join(COUNTERS).encode() + b"\0"
    path.write_bytes(header.tobytes() + bytes(8 * n) + names)


def die(start: SegmentStart, row: Row) -> None:
    raise SystemExit(1)


def test_whatever_ends_the_rows_is_said_and_ends_the_measurement(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    show(tmp_path / "raw" / LIVE_FILE)
    rows = Rows(tmp_path / "soak", every_ns=1_000_000, limits_ns=(), on_row=die)
    rows.device_ready(make_plan(parse_spec(TEXT)).trials[0], Cores(0, 0, 0, 0), None)

    with (
        subprocess.Popen(
            ["sleep", "1000"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        ) as generator,
        rows.generating(generator.pid, tmp_path / "raw"),
    ):
        generator.wait()

    assert generator.returncode == -signal.SIGINT
    assert rows.failed == rows.stopped == "rows are not kept any more: SystemExit(1)"
