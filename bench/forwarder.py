"""taut-forward beside its peers: same memif ports, same load, interleaved in one run.

The best repetition of each stands first: where the host moves virtual processors, a line of memory
takes 50 ns from one to the other or 250 (line.c), and a trial meets one or the other.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from harness import (
    LOOPBACK,
    Bench,
    Trial,
    Variant,
    abba,
    best,
    heading,
    opened,
    progress,
    spread,
    table,
)

EAGER = Variant("taut-forward eager", "taut_forward", {"transmit": "eager"})
STAMPED = Variant("taut-forward stamped", "taut_forward", {"stamp_every": 1})
TESTPMD_1 = Variant("testpmd burst 1", "testpmd", {"burst": 1})
TESTPMD_32 = Variant("testpmd burst 32", "testpmd", {"burst": 32})
L2FWD = Variant("DPDK l2fwd", "l2fwd", {})
VARIANTS = (LOOPBACK, EAGER, STAMPED, TESTPMD_1, TESTPMD_32, L2FWD)
RATES_PPS = (10_000, 100_000)


def main() -> None:
    """Print a table of latencies for each rate, then one of what comes through under overload."""
    options = parse()
    asked = [v for v in VARIANTS if v.label.startswith(tuple(options.only))]
    variants = [variant for variant in asked if usable(variant)]
    heading("Forwarder")
    with opened(options.generator_core, options.device_core) as bench:
        for rate_pps in RATES_PPS:
            found = trials(bench, variants, rate_pps, options)
            print_latency(rate_pps, found, options)
            print_stamps(found)
        # Under overload the stamps of each packet would be measuring the disk.
        unstamped = [variant for variant in variants if variant != STAMPED]
        overload_pps = round(options.offered_mpps * 1e6)
        print_delivered(trials(bench, unstamped, overload_pps, options), options)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of a trial")
    parser.add_argument("--repetitions", type=int, default=10, help="of each trial")
    parser.add_argument("--offered-mpps", type=float, default=20, help="more than any can take")
    parser.add_argument("--only", nargs="+", default=[""], help="words that names begin with")
    parser.add_argument("--generator-core", type=int, default=0)
    parser.add_argument("--device-core", type=int, default=1)
    return parser.parse_args()


def usable(variant: Variant) -> bool:
    """Leave out, and name, what this machine cannot run."""
    missing = variant.missing()
    if missing:
        progress(f"without {variant.label}: {missing}")
    return missing is None


def trials(
    bench: Bench, variants: Sequence[Variant], rate_pps: int, options: argparse.Namespace
) -> Mapping[str, Sequence[Trial]]:
    """Measure all in turn, both ways one after the other."""
    found: dict[str, list[Trial]] = defaultdict(list)
    for variant in abba(variants, options.repetitions):
        trial = bench.trial(variant, rate_pps, options.seconds)
        found[variant.label].append(trial)
        p50_ns = trial.percentile_ns("service", 0.5)
        line = f"line {trial.line_ns:.0f} ns"
        progress(f"{variant.label} at {rate_pps} pkt/s: p50 {p50_ns:.0f} ns, {line}")
    return found


def print_latency(
    rate_pps: int, found: Mapping[str, Sequence[Trial]], options: argparse.Namespace
) -> None:
    """Compare p50 and p99 with testpmd's of burst 1."""
    print(f"Service latency at {rate_pps // 1000} kpkt/s, 64 B, {options.repetitions} trials of")
    print(f"{options.seconds:g} s, interleaved, without void packets: the best (the worst). Ratio:")
    print("of the best. Line: from core to core, right before a trial.\n")
    figures = {
        label: [[trial.percentile_ns("service", share) for trial in of] for share in (0.5, 0.99)]
        for label, of in found.items()
    }
    rows = []
    for label, of in found.items():
        cells = [label, *(best(values, min) for values in figures[label])]
        if TESTPMD_1.label in figures:
            pairs = zip(figures[label], figures[TESTPMD_1.label], strict=True)
            cells += [f"{np.nanmin(ours) / np.nanmin(theirs):.2f}" for ours, theirs in pairs]
        void = spread([100 * trial.share("void") for trial in of], 2)
        rows.append([*cells, best([trial.line_ns for trial in of], min), void])
    ratios = ["p50 / testpmd 1", "p99 / testpmd 1"] if TESTPMD_1.label in figures else []
    table(["device", "p50 ns", "p99 ns", *ratios, "line ns", "void %"], rows)


def print_stamps(found: Mapping[str, Sequence[Trial]]) -> None:
    """Say what stamping each packet adds: trial by trial, of those next to each other in turn."""
    if EAGER.label not in found or STAMPED.label not in found:
        return
    rows = []
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        without, with_stamps = (
            np.array([trial.percentile_ns("service", share) for trial in found[label]])
            for label in (EAGER.label, STAMPED.label)
        )
        cells = (spread(values) for values in (without, with_stamps, with_stamps - without))
        rows.append([name, *cells])
    print("Each packet stamped: medians (ranges) over the trials; more: of each two in turn.\n")
    table(["ns", "without stamps", "with", "more"], rows)


def print_delivered(found: Mapping[str, Sequence[Trial]], options: argparse.Namespace) -> None:
    """Compare what comes back where more is offered than any can take."""
    print(
        f"What comes back of {options.offered_mpps:g} Mpkt/s offered, 64 B, interleaved: the best"
    )
    print("(the worst). No device: the generator's own limit.\n")
    rows = [
        [
            label,
            best([trial.forwarded_pps() / 1e6 for trial in of], max, 2),
            best([trial.line_ns for trial in of], min),
        ]
        for label, of in found.items()
    ]
    table(["device", "Mpkt/s", "line ns"], rows)


if __name__ == "__main__":
    main()
