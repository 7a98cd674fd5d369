"""Run every test that judges timing, nothing beside it, again and again: how often it passes.

    devtools/pass_rate.py --out FILE [--rounds 100] [-k EXPRESSION] [-m MARKS] [PATH...]

A test that only touches the machine passes or has a fault; these (mark `timing`) are judged by what
else the machine does, too. A round runs them once, file after file, for tests of a file may share a
run of taut. Each outcome is a line of FILE: what it holds is counted as well, so that a long series
can be made in parts, and one that is stopped loses a file at most. Prints a table, a row a test;
fails if any run of any of them failed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Run:
    """How one test ended, once."""

    test: str
    outcome: str  # passed, failed, skipped
    took_s: float


def runs_in(report: str, file: str) -> Iterator[Run]:
    """Read pytest's JUnit report of a file's tests; an error of a fixture is a failure."""
    for case in ET.fromstring(report).iter("testcase"):
        ends = {one.tag for one in case}
        failed = ends & {"failure", "error"}
        outcome = "failed" if failed else "skipped" if "skipped" in ends else "passed"
        yield Run(f"{file}::{case.get('name')}", outcome, float(case.get("time", 0)))


def files_of(paths: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Name the files with tests that judge timing, in order."""
    argv = [*PYTEST, "--collect-only", *chosen, *paths]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    if done.returncode != 0 or not tests:
        why = done.stderr.strip() or "widen -k, -m or PATH"
        sys.exit(f"pass_rate: no test that judges timing: {why}")
    return list(dict.fromkeys(test.split("::")[0] for test in tests))


def run_file(file: str, chosen: Sequence[str]) -> list[Run]:
    """Run a file's tests in a process of their own; say on standard error why one failed."""
    with tempfile.NamedTemporaryFile("r", suffix=".xml") as report:
        argv = [*PYTEST, f"--junitxml={report.name}", *chosen, file]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        text = report.read()
    if done.returncode != 0:
        print(done.stdout[-8000:], done.stderr, file=sys.stderr, flush=True)
    if not text:
        sys.exit(f"pass_rate: {file}: pytest ran nothing, status {done.returncode}")
    return list(runs_in(text, file))


def read_runs(out: Path) -> list[Run]:
    """Read what a series has so far."""
    if not out.exists():
        return []
    return [Run(**json.loads(line)) for line in out.read_text().splitlines()]


def row(test: str, runs: Sequence[Run]) -> str:
    """Give the line of a test in the table."""
    n = {name: sum(run.outcome == name for run in runs) for name in ("passed", "failed", "skipped")}
    typical_s = statistics.median(run.took_s for run in runs)
    skipped = f", {n['skipped']} skipped" if n["skipped"] else ""
    return f"| `{test}` | {n['passed']} of {len(runs)}{skipped} | {typical_s:.1f} |"


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Give the table, in the order in which the tests were run first."""
    yield "| test | passed | median, s |"
    yield "|---|---|---|"
    for test in dict.fromkeys(run.test for run in runs):
        yield row(test, [run for run in runs if run.test == test])


def main() -> int:
    """Run the rounds; print what all that are there come to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a line an outcome; added to")
    parser.add_argument("--rounds", type=int, default=100, help="100; 0 prints what is there")
    parser.add_argument("-k", help="of these tests those that match, as pytest has it")
    parser.add_argument(
        "-m", metavar="MARKS", help='those so marked: "not long" are of `make test`'
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; all of tests/")
    asked = parser.parse_args()
    marks = f"timing and ({asked.m})" if asked.m else "timing"
    chosen = ["-m", marks, *(["-k", asked.k] if asked.k else [])]
    files = files_of(asked.paths, chosen) if asked.rounds else []
    try:
        for n in range(asked.rounds):
            for file in files:
                lines = [json.dumps(asdict(run)) + "\n" for run in run_file(file, chosen)]
                with asked.out.open("a") as out:
                    out.writelines(lines)
            print(f"pass_rate: round {n + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("pass_rate: stopped", file=sys.stderr)
    runs = read_runs(asked.out)
    print("\n".join(table(runs)))
    return int(any(run.outcome == "failed" for run in runs))


if __name__ == "__main__":
    sys.exit(main())
