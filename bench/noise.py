"""taut-noise beside oslat of rt-tests, on the same core, in turn: they should see the same gaps.

Each repetition runs oslat twice and taut once, the order rotating, so that two runs of oslat say
how far two looks at this machine differ anyway.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import heading, progress, spread, table
from taut.binaries.noise import NoiseRequest, measure_noise

OVER_US = 10


@dataclass(frozen=True)
class Seen:
    """What one run saw."""

    worst_us: float
    over: int
    """Gaps over 10 us."""


def main() -> None:
    """Print the runs, and how far they differ."""
    options = parse()
    if shutil.which("oslat") is None:
        sys.exit("bench: no oslat; apt-get install rt-tests")
    heading("Noise")
    runs = {"oslat": oslat, "taut": taut, "oslat again": oslat}
    found = measure(runs, options)
    print(
        f"Core {options.core}, {options.seconds} s each, SCHED_FIFO {options.priority} (0: no).\n"
    )
    columns = [f"{what}, {name}" for what in ("worst us", f"> {OVER_US} us") for name in runs]
    rows = [
        [f"{found[name][at].worst_us:.0f}" for name in runs]
        + [str(found[name][at].over) for name in runs]
        for at in range(options.repetitions)
    ]
    table(["", *columns], [[str(at + 1), *row] for at, row in enumerate(rows)])
    summary(found)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=10, help="of one run")
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO of both; 0: ordinary")
    return parser.parse_args()


def measure(
    runs: dict[str, Callable[[argparse.Namespace], Seen]], options: argparse.Namespace
) -> dict[str, list[Seen]]:
    """Run all in turn; each comes first, second and third equally often."""
    found: dict[str, list[Seen]] = {name: [] for name in runs}
    names = list(runs)
    for repetition in range(options.repetitions):
        first = repetition % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(runs[name](options))
            progress(f"{repetition + 1} {name}: {found[name][-1]}")
    return found


def oslat(options: argparse.Namespace) -> Seen:
    """Run it; its buckets are of a microsecond, the last holds all above."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "oslat.json"
        command = ["oslat", "--quiet", "--cpu-list", str(options.core), f"--json={path}"]
        command += ["--duration", str(options.seconds), "--cpu-main-thread"]
        command += ["0" if options.core else "1"]
        if options.priority:
            command += ["--rtprio", str(options.priority)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        thread = json.loads(path.read_text())["thread"]["0"]
    # A bucket is named for the microsecond it ends with: 11 holds 10 us and more.
    over = sum(n for bucket, n in thread["histogram"].items() if int(bucket) > OVER_US)
    return Seen(float(thread["max"]), over)


def taut(options: argparse.Namespace) -> Seen:
    """Run taut-noise on the same core, for as long, at the same priority."""
    request = NoiseRequest(
        options.seconds * 1_000_000_000, cores=(options.core,), priority=options.priority
    )
    (core,) = measure_noise(request).cores
    return Seen(core.worst_ns / 1e3, core.over[OVER_US * 1000])


def summary(found: dict[str, list[Seen]]) -> None:
    """Print medians and ranges, and ratios within the repetitions."""
    rows = [
        [
            name,
            spread([seen.worst_us for seen in runs]),
            spread([float(seen.over) for seen in runs]),
        ]
        for name, runs in found.items()
    ]
    table(["", "worst us", f"gaps > {OVER_US} us"], rows)
    first, second, ours = found["oslat"], found["oslat again"], found["taut"]
    between = [ratio(a, b) for a, b in zip(first, second, strict=True)]
    to_taut = [
        ratio(theirs, own)
        for other in (first, second)
        for theirs, own in zip(other, ours, strict=True)
    ]
    print("Factor between two runs of one repetition, the larger over the smaller.\n")
    table(
        ["", "worst", f"gaps > {OVER_US} us"],
        [factors("oslat and oslat", between), factors("oslat and taut", to_taut)],
    )


def ratio(a: Seen, b: Seen) -> tuple[float, float]:
    """Give the factors of worst and count, 1 or more; of counts one more, for zero has no ratio."""
    counts = (a.over + 1, b.over + 1)
    worst = (a.worst_us, b.worst_us)
    return max(worst) / min(worst), max(counts) / min(counts)


def factors(name: str, ratios: list[tuple[float, float]]) -> list[str]:
    """Write median and greatest."""
    columns = zip(*ratios, strict=True)
    return [name, *(f"{statistics.median(c):.2f} (at most {max(c):.2f})" for c in columns)]


if __name__ == "__main__":
    main()
