"""Run every test that judges timing, each by itself, again and again: how often it passes.

    devtools/pass_rate.py [TIMES [pytest options]]    100 times; -k narrows the tests

A test that only touches the machine passes or has a fault; these (mark `timing`) are judged by what
else the machine does, too. Prints a table, a row a test; fails if any run of any of them did.
"""

import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Run:
    """How one test ended, once."""

    outcome: str
    took_s: float


def outcome_of(status: int, said: str) -> str:
    """Name the outcome: a skipped test proves nothing, and pytest's status does not tell."""
    if status != 0:
        return "failed"
    return "passed" if " passed" in said else "skipped"


def row(test: str, runs: list[Run]) -> str:
    """Give the line of a test in the table."""
    n = {name: sum(run.outcome == name for run in runs) for name in ("passed", "failed", "skipped")}
    typical_s = statistics.median(run.took_s for run in runs)
    skipped = f", {n['skipped']} skipped" if n["skipped"] else ""
    return f"| `{test}` | {n['passed']} of {len(runs)}{skipped} | {typical_s:.1f} |"


def collected(options: list[str]) -> list[str]:
    """Name the tests that judge timing."""
    argv = [*PYTEST, "--collect-only", "-m", "timing", *options]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def run_once(test: str) -> Run:
    """Run a test in a process of its own; say on standard error why it failed."""
    began_s = time.monotonic()
    done = subprocess.run([*PYTEST, test], cwd=ROOT, capture_output=True, text=True, check=False)
    outcome = outcome_of(done.returncode, done.stdout.splitlines()[-1])
    if outcome == "failed":
        print(done.stdout[-4000:], file=sys.stderr)
    return Run(outcome, time.monotonic() - began_s)


def main() -> int:
    """Print a row as soon as a test is through."""
    times, options = int((sys.argv[1:] or ["100"])[0]), sys.argv[2:]
    has_failed = False
    print("| test | passed | median, s |\n|---|---|---|")
    for test in collected(options):
        runs = [run_once(test) for _ in range(times)]
        has_failed |= any(run.outcome == "failed" for run in runs)
        print(row(test, runs), flush=True)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
