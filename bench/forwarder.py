"""taut-forward beside its peers: same memif ports, same load, interleaved in one run."""

import argparse
from collections import defaultdict

import numpy as np

from harness import (
    LOOPBACK,
    Bench,
    Variant,
    abba,
    heading,
    max_rates,
    opened,
    progress,
    spread,
    table,
)

EAGER = Variant("taut-forward eager", "taut_forward", {"transmit": "eager"})
TESTPMD_1 = Variant("testpmd burst 1", "testpmd", {"burst": 1})
TESTPMD_32 = Variant("testpmd burst 32", "testpmd", {"burst": 32})
L2FWD = Variant("DPDK l2fwd", "l2fwd", {})
VARIANTS = (LOOPBACK, EAGER, TESTPMD_1, TESTPMD_32, L2FWD)


def main() -> None:
    """Print the table of latencies, then that of the highest rates with less than 0.1 % lost."""
    options = parse()
    variants = [variant for variant in VARIANTS if usable(variant)]
    heading("Forwarder")
    with opened(options.generator_core, options.device_core) as bench:
        latency(bench, variants, options)
        if not options.no_max_rate:
            maximum(bench, [v for v in variants if v is not L2FWD], options)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="length of a latency trial")
    parser.add_argument("--repetitions", type=int, default=4, help="of each latency trial")
    parser.add_argument("--ceiling-mpps", type=float, default=16, help="bisection starts here")
    parser.add_argument("--max-seconds", type=float, default=2, help="length of a bisection trial")
    parser.add_argument("--steps", type=int, default=8, help="of the bisection")
    parser.add_argument("--no-max-rate", action="store_true", help="leave the bisection out")
    parser.add_argument("--generator-core", type=int, default=0)
    parser.add_argument("--device-core", type=int, default=1)
    return parser.parse_args()


def usable(variant: Variant) -> bool:
    """Leave out, and name, what this machine cannot run."""
    missing = variant.missing()
    if missing:
        progress(f"without {variant.label}: {missing}")
    return missing is None


def latency(bench: Bench, variants: list[Variant], options: argparse.Namespace) -> None:
    """Compare p50 and p99 at 10 and 100 kpkt/s."""
    p50: dict[tuple[int, str], list[float]] = defaultdict(list)
    p99: dict[tuple[int, str], list[float]] = defaultdict(list)
    void: dict[tuple[int, str], list[float]] = defaultdict(list)
    for rate in (10_000, 100_000):
        for variant in abba(variants, options.repetitions):
            trial = bench.trial(variant, rate, options.seconds)
            key = (rate, variant.label)
            p50[key].append(trial.percentile_ns("service", 0.5))
            p99[key].append(trial.percentile_ns("service", 0.99))
            void[key].append(100 * trial.share("void"))
            progress(f"{variant.label} at {rate} pkt/s: p50 {p50[key][-1]:.0f} ns")

    print(f"Service latency, 64 B, {options.repetitions} x {options.seconds} s, interleaved;")
    print("median (range) of the repetitions, without void packets.\n")
    rows = []
    for key in p50:
        reference = (key[0], TESTPMD_1.label)
        cells = [f"{key[0] // 1000} kpkt/s", key[1], spread(p50[key]), spread(p99[key])]
        for series in (p50, p99):
            ratio = np.median(series[key]) / np.median(series.get(reference, [np.nan]))
            cells.append(f"{ratio:.2f}")
        rows.append([*cells, spread(void[key], 2)])
    columns = ["rate", "device", "p50 ns", "p99 ns", "p50 / testpmd 1", "p99 / testpmd 1", "void %"]
    table(columns, rows)


def maximum(bench: Bench, variants: list[Variant], options: argparse.Namespace) -> None:
    """Compare the highest rates with less than 0.1 % lost."""
    ceiling = round(options.ceiling_mpps * 1e6)
    rates = max_rates(bench, variants, ceiling, options.max_seconds, options.steps)
    print(f"Highest rate with less than 0.1 % lost or refused, 64 B, {options.steps} steps of")
    print(f"bisection from {options.ceiling_mpps} Mpkt/s, trials of {options.max_seconds} s,")
    print("interleaved. Loopback is the generator's own limit.\n")
    table(["device", "Mpkt/s"], [[name, f"{rate / 1e6:.2f}"] for name, rate in rates.items()])


if __name__ == "__main__":
    main()
