"""What network functions cost, by rules or routes and by flows, beside testpmd and DPDK's l3fwd.

    .venv/bin/python bench/functions.py --json functions.json

Two figures of each: how much comes through where more is offered than it can take, and how long
packets take at a rate that all can. What is measured for a number of flows is measured in turn,
forwards and backwards. The best turn of each stands first: where the host moves virtual processors,
a line of memory takes 50 ns from one to the other or 250 (line.c), and a trial meets one or the
other. A flow is a destination in 10.0.0.0/8, which routes divide among them,
and to the firewall a connection. l3fwd keeps packets until it has 32 or 100 us are over, so its
latency says nothing about its work.
"""

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import function_input
from harness import Bench, Variant, abba, best, heading, opened, progress, table
from taut.dut.driver import DriverOptions
from taut.dut.drivers import DRIVERS
from taut.host.dpdk import dpdk_version

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = "testpmd io"
FLOWS = (1, 10_000, 1_000_000)
SIZES = (1, 100, 1_000, 10_000)
GENERATOR_PAGES = 256
L3FWD_MB = 384


@dataclass
class Figures:
    """What one subject did at one number of flows, a value a turn."""

    mpps: list[float] = field(default_factory=list)
    p50_ns: list[float] = field(default_factory=list)
    p99_ns: list[float] = field(default_factory=list)
    line_ns: list[float] = field(default_factory=list)
    """Right before the trial of the rate."""


Results = Mapping[int, Mapping[str, Figures]]
"""By flows, then by subject."""


def main() -> None:
    """Print a table of all and one of router and l3fwd; write all values as JSON if asked."""
    options = parse()
    with tempfile.TemporaryDirectory(prefix="taut-functions-") as folder:
        named = [one for one in subjects(Path(folder), options.sizes) if is_asked(one, options)]
        variants = [variant for variant in named if usable(variant)]
        pages = max(DRIVERS[v.driver].hugepages(options_of(v)) for v in variants)
        heading("Network functions")
        with opened(options.generator_core, options.device_core, pages + GENERATOR_PAGES) as bench:
            results = {flows: measured(bench, variants, flows, options) for flows in options.flows}
    print_all(results, options)
    print_router(results)
    if options.json:
        options.json.write_text(json.dumps(plain(results), indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2, help="length of a trial")
    parser.add_argument("--repetitions", type=int, default=3, help="turns")
    parser.add_argument("--offered-mpps", type=float, default=16, help="more than any can take")
    parser.add_argument("--rate-mpps", type=float, default=1, help="where latency is looked at")
    parser.add_argument("--flows", type=int, nargs="+", default=FLOWS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="rules or routes")
    parser.add_argument("--only", nargs="+", default=[""], help="words that names begin with")
    parser.add_argument("--json", type=Path, help="file for every value")
    parser.add_argument("--quick", action="store_true", help="two turns, 100 rules, 10,000 flows")
    parser.add_argument("--generator-core", type=int, default=0)
    parser.add_argument("--device-core", type=int, default=1)
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.sizes, options.flows = 2, [100], [10_000]
        options.seconds = 1
    return options


def subjects(folder: Path, sizes: Sequence[int]) -> Iterator[Variant]:
    """Name what is measured; their files are written to the folder."""

    def function(label: str, *nf: str) -> Variant:
        return Variant(label, "taut_forward", {"nf": list(nf)})

    yield Variant(REFERENCE, "testpmd", {"burst": 32})
    yield function("wire")
    for name in ("skeleton", "bridge", "mac_swap"):
        yield function(name, name)
    l3fwd = built_l3fwd()
    for n in sizes:
        routes = function_input.write_routes(folder, n)
        yield function(f"router, {n:,} routes", f"router:{routes.options}")
        for lookup in ("lpm", "fib"):
            if l3fwd is None:
                continue
            yield Variant(
                f"l3fwd {lookup}, {n:,} routes",
                "command",
                {
                    "argv": l3fwd_argv(l3fwd, lookup, routes.l3fwd_v4, routes.l3fwd_v6),
                    "ready": "entering main loop",
                    "hugepages": L3FWD_MB // 2,
                },
            )
        for kind, is_stateful in (("rules", False), ("stateful", True)):
            rules = function_input.write_rules(folder, n, is_stateful=is_stateful)
            word = f"firewall:rules={rules}" + (",connections=1048576" if is_stateful else "")
            yield function(f"firewall, {n:,} {kind}", word)


def built_l3fwd() -> Path | None:
    """Build DPDK's l3fwd once; None where its source is not there or does not build."""
    if subprocess.run([ROOT / "devtools/build_example", "l3fwd"], check=False).returncode != 0:
        return None
    return Path.home() / ".cache/taut" / f"l3fwd-{dpdk_version()}" / "l3fwd"


def l3fwd_argv(program: Path, lookup: str, v4: Path, v6: Path) -> list[str]:
    """Between the ports that a driver `command` is given."""
    ports = [
        f"--vdev=net_memif{i},role=server,id=0,socket={{socket{i}}},socket-abstract=no"
        for i in range(2)
    ]
    eal = ["-l", "{core}", "--no-pci", "--no-telemetry", "--in-memory", "-m", str(L3FWD_MB)]
    own = ["-p", "0x3", "-P", f"--lookup={lookup}", "--config=(0,0,{core}),(1,0,{core})"]
    own += [f"--rule_ipv4={v4}", f"--rule_ipv6={v6}", "--parse-ptype", "--no-numa"]
    return [str(program), *eal, *ports, "--", *own]


def is_asked(variant: Variant, options: argparse.Namespace) -> bool:
    """Whether to measure it: what ratios are to always is."""
    return variant.label == REFERENCE or variant.label.startswith(tuple(options.only))


def options_of(variant: Variant) -> DriverOptions:
    return DRIVERS[variant.driver].options_type(**variant.options)


def usable(variant: Variant) -> bool:
    """Leave out, and name, what this machine cannot run."""
    missing = variant.missing()
    if missing:
        progress(f"without {variant.label}: {missing}")
    return missing is None


def measured(
    bench: Bench, variants: Sequence[Variant], flows: int, options: argparse.Namespace
) -> Mapping[str, Figures]:
    """Measure all in turn, both ways one after the other."""
    found: dict[str, Figures] = defaultdict(Figures)
    for variant in abba(variants, options.repetitions):
        figures = found[variant.label]
        for mpps in (options.offered_mpps, options.rate_mpps):
            # Long enough that each flow has come once before it counts.
            warm_up = 0.5 + flows / 1e6 / options.rate_mpps
            more = ["--warm-up", f"{warm_up * 1000:.0f}ms"]
            more += ["--destinations", str(flows)]
            trial = bench.trial(variant, round(mpps * 1e6), options.seconds, more=more)
            if mpps == options.offered_mpps:
                figures.mpps.append(trial.forwarded_pps() / 1e6)
            else:
                figures.p50_ns.append(trial.percentile_ns("service", 0.5))
                figures.p99_ns.append(trial.percentile_ns("service", 0.99))
                figures.line_ns.append(trial.line_ns)
        progress(f"{variant.label}, {flows:,} flows: {figures.mpps[-1]:.2f} Mpkt/s")
    return found


def print_all(results: Results, options: argparse.Namespace) -> None:
    """Print a table for each figure: a line a subject, a column a number of flows."""
    print(f"64 B, {options.repetitions} turns of {options.seconds:g} s: the best, and the worst in")
    print(f"brackets. Mpkt/s: what came back of {options.offered_mpps:g} offered. Latency: at")
    print(f"{options.rate_mpps:g} Mpkt/s, without void packets.\n")

    def one(title: str, cell: Callable[[Figures], str]) -> None:
        labels = next(iter(results.values()))
        rows = ([label, *(cell(of[label]) for of in results.values())] for label in labels)
        table([title, *(f"{flows:,} flows" for flows in results)], rows)

    one("Mpkt/s", lambda figures: best(figures.mpps, max, 2))
    one("p50 ns", lambda figures: best(figures.p50_ns, min))
    one("p99 ns", lambda figures: best(figures.p99_ns, min))
    one("line, ns", lambda figures: best(figures.line_ns, min))


def print_router(results: Results) -> None:
    """Print taut's router beside DPDK's, of as many routes; the best turn of each."""
    rows = []
    for flows, by_label in results.items():
        for label, figures in by_label.items():
            name, _, routes = label.partition(", ")
            ours = by_label.get(f"router, {routes}")
            if name.startswith("l3fwd") and ours is not None:
                share = f"{max(ours.mpps) / max(figures.mpps):.2f}"
                rows.append([routes, f"{flows:,}", name, share])
    table(["routes", "flows", "beside", "Mpkt/s of router / l3fwd"], rows)


def plain(results: Results) -> object:
    """Give all values for JSON; null is a percentile of a trial that was void as a whole."""
    return {
        flows: {
            label: {
                name: [None if np.isnan(value) else value for value in values]
                for name, values in vars(figures).items()
            }
            for label, figures in by_label.items()
        }
        for flows, by_label in results.items()
    }


if __name__ == "__main__":
    main()
