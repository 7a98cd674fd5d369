"""What taut-generate itself can do, over memif from itself to itself: no device under test."""

import argparse

import numpy as np

from harness import LOOPBACK, Bench, heading, max_rates, opened, progress, spread, table

RATE_PPS = 100_000
RECORD_RATE_PPS = 1_000_000


def main() -> None:
    """Print one table per question."""
    options = parse()
    heading("Generator")
    with opened(options.generator_core, options.generator_core) as bench:
        maximum(bench, options)
        recording(bench, options)
        precision(bench, options)
        cost(bench, options)
        memory(bench, options)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="length of a trial")
    parser.add_argument("--repetitions", type=int, default=4, help="of records on and off")
    parser.add_argument("--ceiling-mpps", type=float, default=24, help="bisection starts here")
    parser.add_argument("--steps", type=int, default=8, help="of the bisection")
    parser.add_argument("--long", action="store_true", help="memory of 10 minutes, not of 1")
    parser.add_argument("--generator-core", type=int, default=0)
    return parser.parse_args()


def maximum(bench: Bench, options: argparse.Namespace) -> None:
    """Find the highest rate that is offered, received and timed."""
    ceiling = round(options.ceiling_mpps * 1e6)
    rate = max_rates(bench, [LOOPBACK], ceiling, 2, options.steps)[LOOPBACK.label]
    print("Highest rate offered and timed, one core, histograms only, less than 0.1 % lost.\n")
    table(["records", "Mpkt/s"], [["none", f"{rate / 1e6:.2f}"]])


def recording(bench: Bench, options: argparse.Namespace) -> None:
    """Record every packet at 1 Mpkt/s."""
    trial = bench.trial(LOOPBACK, RECORD_RATE_PPS, options.seconds, record="all")
    records, counters = trial.document["records"], trial.document["counters"]
    print(f"Every packet recorded at {RECORD_RATE_PPS / 1e6:.0f} Mpkt/s for {options.seconds} s.\n")
    achieved = f"{trial.document['achieved_pps'] / 1e6:.4f}"
    lost = f"{counters['unsent']} / {counters['lost']}"
    cells = [achieved, str(records["n"]), f"{records['bytes'] / 1e6:.0f}"]
    columns = ["achieved Mpkt/s", "records", "MB", "writer stalls", "unsent / lost"]
    table(columns, [[*cells, str(records["stalls"]), lost]])


def precision(bench: Bench, options: argparse.Namespace) -> None:
    """Compare when packets left with when they were due."""
    rows = []
    for rate in (10_000, RATE_PPS, RECORD_RATE_PPS):
        trial = bench.trial(LOOPBACK, rate, options.seconds, record="all")
        error = [trial.percentile_ns("departure_error", p) for p in (0.5, 0.99, 0.999)]
        void = f"{100 * trial.share('void'):.3f}"
        rows.append([f"{rate // 1000} kpkt/s", *(f"{ns:.0f}" for ns in error), void])
    print("Departure error (sent - due), constant schedule, without void packets.\n")
    table(["rate", "p50 ns", "p99 ns", "p99.9 ns", "void %"], rows)


def cost(bench: Bench, options: argparse.Namespace) -> None:
    """Compare the latency seen with records on and off."""
    p50: dict[str, list[float]] = {"none": [], "all": []}
    for repetition in range(options.repetitions):
        for record in ("none", "all") if repetition % 2 == 0 else ("all", "none"):
            trial = bench.trial(LOOPBACK, RATE_PPS, options.seconds / 2, record=record)
            p50[record].append(trial.percentile_ns("service", 0.5))
            progress(f"records {record}: p50 {p50[record][-1]:.1f} ns")
    shift = float(np.median(p50["all"]) - np.median(p50["none"]))
    print(f"Cost of recording at {RATE_PPS // 1000} kpkt/s: service latency p50, interleaved.\n")
    cells = [spread(p50["none"], 1), spread(p50["all"], 1), f"{shift:+.1f}"]
    table(["records off, ns", "records on, ns", "shift of p50, ns"], [cells])


def memory(bench: Bench, options: argparse.Namespace) -> None:
    """Compare the resident memory of a short and a long run."""
    rows = []
    for seconds in (10, 600 if options.long else 60):
        progress(f"memory over {seconds} s")
        trial = bench.trial(LOOPBACK, RATE_PPS, seconds, record="all")
        gigabytes = trial.document["records"]["bytes"] / 1e9
        rows.append([f"{seconds} s", str(trial.max_rss_kib), f"{gigabytes:.2f}"])
    print(f"Largest resident memory, {RATE_PPS // 1000} kpkt/s, every packet recorded.\n")
    table(["run", "max RSS, KiB (without hugepages)", "recorded, GB"], rows)


if __name__ == "__main__":
    main()
