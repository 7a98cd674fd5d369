"""How often `taut compare` claims a difference between two runs of one experiment.

    .venv/bin/python bench/against_itself.py --out runs/itself
    .venv/bin/python bench/against_itself.py --out runs/itself-once --repetitions 1

Runs follow each other; each is compared with the one before. What --out holds already is not made
again: a long series can be measured in parts.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

from harness import heading, progress, table
from taut.analysis.compare import compare_runs
from taut.analysis.pairing import read_analysis
from taut.records.documents.results import RESULTS_FILE
from taut.records.rundir import RunDirectory

ROOT = Path(__file__).resolve().parent.parent

SPEC = """
name = "itself"
duration = "2s"
warm_up = "200ms"
repetitions = {repetitions}
floor = true
[[device]]
driver = "{driver}"
[[traffic]]
schedule = "constant"
rates = ["{rate}"]
"""


def main() -> int:
    """Measure what --out lacks, and compare neighbours."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--driver", default="taut_forward")
    parser.add_argument("--rate", default="10kpps")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    spec = asked.out / "itself.toml"
    spec.write_text(SPEC.format(**vars(asked)))
    runs = [asked.out / f"{n:03}" for n in range(asked.pairs + 1)]
    for run in runs:
        measure(spec, run)
    heading("One experiment held against itself")
    print_claims(runs)
    return 0


def measure(spec: Path, run: Path) -> None:
    """Make a run that is not there; one that was cut short goes on."""
    if (run / RESULTS_FILE).is_file():
        return
    words = [str(ROOT / "bin" / "taut"), "run", str(spec), "--out", str(run), "--no-report"]
    resume = ["--resume"] if run.is_dir() else []
    subprocess.run([*words, *resume, "--wait"], stdout=subprocess.DEVNULL, check=True)
    progress(f"{run.name}: measured")


def print_claims(folders: list[Path]) -> None:
    """Print in how many comparisons each device's table claims anything, and what it claims."""
    runs = [(run, read_analysis(run)) for run in map(RunDirectory, folders)]
    tables: Counter[str] = Counter()
    claimed: Counter[str] = Counter()
    words = []
    for (run_a, a), (run_b, b) in pairwise(runs):
        found = compare_runs((run_a, a), (run_b, b))
        for pair in found.pairs:
            tables[pair.label] += 1
            if pair.is_claimed:
                claimed[pair.label] += 1
                words.append(f"{pair.label}, {run_a.path.name}, {run_b.path.name}: {pair.verdict}")
    rows = [[label, str(n), str(claimed[label])] for label, n in tables.items()]
    table(["device", "comparisons", "with a claim"], rows)
    print(*words, f"Load average {', '.join(f'{one:.1f}' for one in os.getloadavg())}.", sep="\n")


if __name__ == "__main__":
    sys.exit(main())
