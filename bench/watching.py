"""What `taut watch` costs the soak it watches: rows with it open and rows with it stopped, in turn.

    .venv/bin/python bench/watching.py --pairs 20 --seconds 5

One soak without a break (examples/soak.toml) and one `taut watch` of it, which is stopped (SIGSTOP)
and let go on by row: open, stopped, stopped, open. Each row's p99.9, p50 and maximum are of its own
packets; pairs of neighbours are compared as taut compares repetitions (exact signed ranks).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from harness import heading, table
from taut.analysis.claims import compare_pairs

ROOT = Path(__file__).resolve().parent.parent
TAUT = str(ROOT / "bin" / "taut")
OPEN = (True, False, False, True)
"""Of each four rows, in which the watch is open."""
FIGURES = ("p50", "p99.9", "max")
WAITS_S = 60
LOOK_S = 0.05


def main() -> int:
    """Measure and print; the soak's exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20, help="of rows; even")
    parser.add_argument("--seconds", type=int, default=5, help="of a row")
    parser.add_argument("--rate", default="20kpps")
    parser.add_argument("--every", default="2s", help="between two looks of the watch")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taut-watching-", dir="/var/tmp") as folder:
        out = Path(folder) / "run"
        with subprocess.Popen(soak_command(asked, out), stdout=subprocess.DEVNULL) as soak:
            first = follow(asked, out, soak, Path(folder) / "watch.txt")
        rows = read_rows(out)[first : first + 2 * asked.pairs]
    heading("Watching")
    print_pairs(rows)
    return soak.returncode


def soak_command(asked: argparse.Namespace, out: Path) -> Sequence[str]:
    """Give the soak's command: two rows more than are compared, in which the watch starts."""
    seconds = (2 * asked.pairs + 3) * asked.seconds
    spec = str(ROOT / "examples/soak.toml")
    words = [TAUT, "soak", spec, "--out", str(out), "--set", f"traffic.constant.rates={asked.rate}"]
    return [*words, "--duration", f"{seconds}s", "--every", f"{asked.seconds}s", "--wait"]


def follow(asked: argparse.Namespace, out: Path, soak: subprocess.Popen[bytes], seen: Path) -> int:
    """Open the watch, stop it and let it go on row by row; give the first row that is compared."""

    def wait_for_rows(n: int) -> None:
        wait_for(lambda: len(read_rows(out)) >= n, soak)

    wait_for_rows(1)
    with (
        seen.open("w") as file,
        subprocess.Popen(
            [TAUT, "watch", str(out), "--every", asked.every], stdout=file, stderr=file
        ) as watch,
    ):
        wait_for(lambda: " p99.9 " in seen.read_text(), soak)
        first = len(read_rows(out)) + 1
        for n in range(2 * asked.pairs):
            wait_for_rows(first + n)
            is_open = OPEN[n % len(OPEN)]
            os.kill(watch.pid, signal.SIGCONT if is_open else signal.SIGSTOP)
            # Nothing of this program runs meanwhile, in either kind of row.
            time.sleep(0.9 * asked.seconds)
        wait_for_rows(first + 2 * asked.pairs)
        os.kill(watch.pid, signal.SIGCONT)
        watch.wait()
    return first


def wait_for(condition: Callable[[], bool], soak: subprocess.Popen[bytes]) -> None:
    """Wait until it is so; the bench ends where the soak did."""
    until = time.monotonic() + WAITS_S
    while not condition():
        if soak.poll() is not None or time.monotonic() > until:
            sys.exit("bench: the soak did not go on")
        time.sleep(LOOK_S)


def read_rows(out: Path) -> list[dict[str, Any]]:
    """Read the rows that are there."""
    return [
        json.loads(line)
        for path in sorted(out.glob("soak/*/rows.jsonl"))
        for line in path.read_text().split("\n")[:-1]
    ]


def value_us(row: dict[str, Any], figure: str) -> float:
    """Give a figure of all packets of a row."""
    latency = row["latency"]
    ns = latency["max_ns"] if figure == "max" else latency["percentiles_ns"][figure]
    return float(ns) / 1e3


def print_pairs(rows: Sequence[dict[str, Any]]) -> None:
    """Print medians of both kinds of rows, and what the pairs show of the difference."""
    lines = []
    for figure in FIGURES:
        values = [value_us(row, figure) for row in rows]
        opened = [v for n, v in enumerate(values) if OPEN[n % len(OPEN)]]
        stopped = [v for n, v in enumerate(values) if not OPEN[n % len(OPEN)]]
        more = [a - b for a, b in zip(opened, stopped, strict=True)]
        found = compare_pairs(more)
        interval = "-" if found.low is None else f"{found.low:+.2f} to {found.high:+.2f}"
        lines.append(
            [
                figure,
                *(f"{median(of):.2f} ({min(of):.2f}-{max(of):.2f})" for of in (stopped, opened)),
                f"{found.estimate:+.2f}",
                interval,
                f"{found.p_value:.3f}",
            ]
        )
    columns = ["us", "stopped: median (range)", "open", "open - stopped", "95 %", "p"]
    table(columns, lines)
    print(f"{len(rows) // 2} pairs; loss {sum(row['counters']['lost'] for row in rows)} packets.")


if __name__ == "__main__":
    sys.exit(main())
