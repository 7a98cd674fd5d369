"""What tracing costs the packets: the same trials with and without taut-trace beside them, in turn.

Each repetition runs one load three times, the order rotating: off, on, and off again. On against
off is the cost of tracing; off again against off is what two looks at this machine differ anyway.
Percentiles are of all warm packets, void ones too: tracing could lengthen the generator's own gaps.
The interval is that of a median by order statistics over the pairs, which assumes no shape.
"""

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import Bench, Trial, Variant, heading, opened, progress, spread, table
from taut.analysis.statistics import summary_of
from taut.experiment.cores import Cores
from taut.experiment.tracing import Wanted, finish, traced

EAGER = Variant("taut-forward eager", "taut_forward", {"transmit": "eager"})
RUNS = {"off": False, "on": True, "off again": False}
PERCENTILES = {"p50": 0.5, "p99.9": 0.999}
MILLIONTHS = 1_000_000


@dataclass(frozen=True)
class Seen:
    """What one run saw."""

    percentiles_ns: dict[str, float]
    void_percent: float


def main() -> None:
    """Print the runs of each rate, and the shifts."""
    options = parse()
    heading("Tracing")
    print(
        f"{EAGER.label} over memif, 64 B, every packet recorded, {options.pairs} x "
        f"{options.seconds:g} s of each, in turn.\n"
    )
    shifts = []
    with opened(options.generator_core, options.device_core) as bench:
        for rate in options.rates:
            found = measure(bench, rate, options)
            table(["pkt/s", "tracing", "p50 ns", "p99.9 ns", "void %"], runs(rate, found))
            shifts += [row for name in PERCENTILES for row in shift_rows(rate, name, found)]
    print("Shift of a pair, median (95 % interval of the median).\n")
    table(["pkt/s", "", "on against off", "off again against off"], shifts)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="of one run")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--rates", type=int, nargs="+", default=[100_000, 10_000], help="pkt/s")
    parser.add_argument("--mode", choices=("continuous", "tail"), default="continuous")
    parser.add_argument("--generator-core", type=int, default=0)
    parser.add_argument("--device-core", type=int, default=1)
    return parser.parse_args()


def measure(bench: Bench, rate_pps: int, options: argparse.Namespace) -> dict[str, list[Seen]]:
    """Run all three in turn; each comes first, second and third equally often."""
    found: dict[str, list[Seen]] = {name: [] for name in RUNS}
    names = list(RUNS)
    for pair in range(options.pairs):
        first = pair % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(run(bench, rate_pps, RUNS[name], options))
            progress(f"{rate_pps} pkt/s, {pair + 1}, {name}: {found[name][-1]}")
    return found


def run(bench: Bench, rate_pps: int, is_traced: bool, options: argparse.Namespace) -> Seen:
    """Run one trial as an experiment would."""

    def beside(device: int | None, folder: Path) -> AbstractContextManager[object]:
        return tracing(bench, device, folder, options.mode) if is_traced else nullcontext()

    trial = bench.trial(EAGER, rate_pps, options.seconds, record="all", beside=beside)
    return Seen(
        {name: service_ns(trial, share) for name, share in PERCENTILES.items()},
        100 * trial.share("void"),
    )


@contextmanager
def tracing(bench: Bench, device: int | None, folder: Path, mode: str) -> Iterator[None]:
    """Trace both cores from before the generator starts until it has ended."""
    core = bench.generator_core
    cores = Cores(generator=core, device=bench.device_core, writer=core, runner=core)
    # Where the generator writes: tail reads its packets there.
    with traced(Wanted(mode), cores, device, folder / "out", folder, bench.scope) as tracer:
        yield
        finish(tracer)


def service_ns(trial: Trial, share: float) -> float:
    """Give a percentile of the service latency of all warm packets."""
    return trial.percentile_ns("service", share, with_void=True)


def runs(rate_pps: int, found: dict[str, list[Seen]]) -> Iterator[list[str]]:
    """Write medians and ranges of each kind of run."""
    for name, seen in found.items():
        values = [spread([one.percentiles_ns[p] for one in seen]) for p in PERCENTILES]
        void = spread([one.void_percent for one in seen], 2)
        yield [str(rate_pps), name, *values, void]


def shift_rows(rate_pps: int, percentile: str, found: dict[str, list[Seen]]) -> list[list[str]]:
    """Write one percentile's shifts: of tracing, and of nothing."""
    off = [seen.percentiles_ns[percentile] for seen in found["off"]]
    cells = [
        shift([seen.percentiles_ns[percentile] for seen in found[name]], off)
        for name in ("on", "off again")
    ]
    return [[str(rate_pps), percentile, *cells]]


def shift(values: list[float], baseline: list[float]) -> str:
    """Write by how much values lie above their partners, in percent."""
    ratios = np.asarray(values) / np.asarray(baseline) - 1
    # Whole millionths: what is counted exactly elsewhere is counted by the same code here.
    shifts, n = np.unique(np.rint(ratios * MILLIONTHS).astype(np.int64), return_counts=True)
    summary = summary_of(shifts, n.astype(np.int64))
    low, high = summary.intervals["p50"]
    interval = "too few pairs" if low is None or high is None else f"{words(low)} to {words(high)}"
    return f"{words(round(float(np.median(ratios)) * MILLIONTHS))} % ({interval})"


def words(millionths: int) -> str:
    """Write millionths as percent."""
    return f"{100 * millionths / MILLIONTHS:+.2f}"


if __name__ == "__main__":
    main()
