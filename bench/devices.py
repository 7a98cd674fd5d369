"""Devices of other projects side by side, and what inspection costs by the number of rules.

    .venv/bin/python bench/devices.py --out runs/devices
    .venv/bin/python bench/devices.py --out runs/devices --seconds 2 --repetitions 1

Two experiments, each one `taut run` that a report, `taut explain` and all the rest can read: every
device that runs here at two rates and under more than it can take, and each inline device as a wire
and with 0, 100 and 10,000 rules, one of which drops a quarter of the packets in the last row. Rules
are made from a seed; no packet matches one, but each meets all of them: they differ only in the
content that they look for. Devices that this machine lacks are named.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import taut
from taut.dut.drivers import DRIVERS

ROOT = Path(__file__).resolve().parent.parent
SEED = 16
SIZES = (0, 100, 10_000)
RATES = ("10kpps", "100kpps")
OVERLOAD = {"memif": "12Mpps", "veth": "1500kpps"}
SIDE_BY_SIDE = (
    "taut_forward",
    "testpmd",
    "ovs_dpdk",
    "linux_bridge",
    "linux_router",
    "ovs_kernel",
    "suricata",
    "snort",
)
INLINE = ("suricata", "snort")
FIRST_FLOW = 'drop udp any 1024 -> any any (msg:"the first flow"; sid:{sid}; rev:1;)'
KPPS, US = 1e3, 1e3


def main() -> int:
    """Run both experiments and print a table of each; a trial that failed has a row, too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the two runs, made new")
    parser.add_argument("--seconds", type=int, default=10, help="of each trial")
    parser.add_argument("--repetitions", type=int, default=4)
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    all_of_them = list(here(SIDE_BY_SIDE))
    length = f'duration = "{options.seconds}s"\nrepetitions = {options.repetitions}\n'
    for name, devices, show in (
        ("side-by-side", [device(name, name) for name in all_of_them], print_side_by_side),
        ("inspection", inspected(options.out, all_of_them), print_inspection),
    ):
        spec = options.out / f"{name}.toml"
        spec.write_text("\n".join([experiment(name, length), *devices, *loads(name, all_of_them)]))
        folder = options.out / name
        argv = [
            str(ROOT / "bin/taut"),
            "run",
            str(spec),
            "--out",
            str(folder),
            "--no-trace",
            "--wait",
        ]
        done = subprocess.run(argv, stdout=sys.stderr, check=False)
        if done.returncode not in (0, 1):
            return done.returncode
        show(taut.load(folder))
    return 0


def experiment(name: str, length: str) -> str:
    """Say what all of its trials have, but for devices and loads."""
    return f'name = "{name}"\nseed = {SEED}\n{length}warm_up = "1s"\nfloor = false\n'


def loads(name: str, drivers: Sequence[str]) -> list[str]:
    """Spell the loads: two rates that all carry, and of the first experiment one that none does."""
    flows = "flows = 4\n" if name == "inspection" else ""
    rates = ", ".join(f'"{rate}"' for rate in RATES)
    words = [f'[[traffic]]\nname = "constant"\n{flows}rates = [{rates}]\n']
    if name == "side-by-side":
        words += [
            f'[[traffic]]\nname = "overload"\nschedule = "constant"\nrecord = "none"\n'
            f'rates = ["{rate}"]\ndevices = {json.dumps(of_link)}\n'
            for link, rate in OVERLOAD.items()
            if (of_link := [d for d in drivers if DRIVERS[d].link_kinds[0] == link])
        ]
    return words


def device(driver: str, name: str, **options: str) -> str:
    """Spell one table of an experiment, with its options."""
    words = "".join(f'{key} = "{value}"\n' for key, value in options.items())
    return f'[[device]]\ndriver = "{driver}"\nname = "{name}"\n[device.options]\n{words}'


def here(drivers: Sequence[str]) -> Iterator[str]:
    """Give those that run on this machine; name the others."""
    for name in drivers:
        reason = DRIVERS[name].missing(DRIVERS[name].options_type())
        if reason is None:
            yield name
        else:
            print(f"left out: {name}: {reason}", file=sys.stderr)


def inspected(folder: Path, drivers: Sequence[str]) -> list[str]:
    """Spell each inline device as a wire, with so many rules, and with one more that drops."""
    devices = []
    for name in (driver for driver in INLINE if driver in drivers):
        devices.append(device(name, f"{name}_wire", mode="forward"))
        for n in SIZES:
            path = folder / f"rules-{n}.rules"
            path.write_text("".join(f"{rule}\n" for rule in rules(n)))
            devices.append(device(name, f"{name}_{n}", mode="filter", rules=str(path.resolve())))
        path = folder / "rules-drop.rules"
        path.write_text("".join(f"{r}\n" for r in (*rules(100), FIRST_FLOW.format(sid=101))))
        devices.append(device(name, f"{name}_drop", mode="filter", rules=str(path.resolve())))
    return devices


def rules(n: int) -> Iterator[str]:
    """Make rules for any UDP packet, each with a content of eight bytes that none has."""
    numbers = random.Random(SEED)
    for sid in range(1, n + 1):
        content = " ".join(f"{numbers.randrange(128, 256):02X}" for _ in range(8))
        yield f'alert udp any any -> any any (msg:"rule {sid}"; content:"|{content}|"; sid:{sid};)'


def of(run: taut.Run, name: str, part: str) -> list[taut.Trial]:
    """Give the whole trials of a device whose name has a part, as its rate."""
    whole = (trial for trial in run.trials if trial.is_whole)
    return [t for t in whole if t.document["dut"]["name"] == name and f"-{part}" in t.name]


def names(run: taut.Run) -> list[str]:
    """Give the devices in the order of the experiment."""
    return [device["name"] for device in run.manifest["spec"]["resolved"]["device"]]


def times(trials: Sequence[taut.Trial]) -> str:
    """Give the medians over repetitions of p50 and p99, in microseconds."""
    if not trials:
        return "failed"
    values = ([t.figure(p) or float("nan") for t in trials] for p in ("p50", "p99"))
    return " / ".join(f"{statistics.median(value) / US:.1f}" for value in values)


def delivered(trials: Sequence[taut.Trial]) -> str:
    """Give how many packets came out a second, of how many that went in."""
    rates = [
        (float(r["achieved_pps"]), float(r["matched"]) / max(1, int(r["sent"])))
        for r in (trial.results for trial in trials)
    ]
    if not rates:
        return "failed"
    sent, share = (statistics.median(column) for column in zip(*rates, strict=True))
    return f"{sent * share / KPPS:.0f} of {sent / KPPS:.0f}"


def print_side_by_side(run: taut.Run) -> None:
    """Print the first table."""
    print("\n| device | link | version | 10 kpkt/s p50 / p99 us | 100 kpkt/s | overload, kpkt/s |")
    print("|---|---|---|---|---|---|")
    for name in names(run):
        dut = next(t.document["dut"] for t in run.trials if t.document["dut"]["name"] == name)
        figures = [times(of(run, name, f"constant_64-{rate}")) for rate in RATES]
        over = delivered(of(run, name, "overload"))
        cells = (name, dut["link"], dut["version"], *figures, over)
        print("| " + " | ".join(map(str, cells)) + " |")


def print_inspection(run: taut.Run) -> None:
    """Print the second table: latency, loss, and what the device says that it dropped."""
    head = "".join(f" {r} p50 / p99 us | lost | it says |" for r in RATES)
    print(f"\n| device |{head}")
    print("|---|" + "---|---|---|" * len(RATES))
    for name in names(run):
        cells: list[Any] = [name]
        for rate in RATES:
            trials = of(run, name, f"constant_64-{rate}")
            lost = sum(int(t.document["generator"]["counters"]["lost"]) for t in trials)
            says = sum(int(t.document["dut"]["stats"]["dropped"]) for t in trials)
            cells += [times(trials), lost, says]
        print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    sys.exit(main())
