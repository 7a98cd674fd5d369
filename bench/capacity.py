"""How far apart searches of the same device end: `taut search` of several of it, in turn.

    .venv/bin/python bench/capacity.py --out runs/capacities
    .venv/bin/python bench/capacity.py --out runs/capacities --only bridge --searches 2

The searches of a device are one run that `taut report` reads: they take turns, a trial each, so
that the machine's drift is the same to all of them. What --out holds already is not made again: a
long series can be measured in parts. The spread is of the relevant lower bounds, the greatest less
the least over the median.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from harness import heading, progress, table
from taut.records.documents.json_form import parse, read_json
from taut.records.documents.search import SEARCH_FILE, SearchDocument

ROOT = Path(__file__).resolve().parent.parent
DEVICES = {
    "bridge": ("linux_bridge", "veth", "2Mpps"),
    "eager_memif": ("taut_forward", "memif", "20Mpps"),
    "testpmd_memif": ("testpmd", "memif", "20Mpps"),
    "eager_veth": ("taut_forward", "veth", "2Mpps"),
    "testpmd_veth": ("testpmd", "veth", "2Mpps"),
}
"""By name: driver, link, and a load that none of them carries."""

SPEC = """
name = "{name}"
duration = "{latency}"
warm_up = "200ms"
deadline = "200ms"
trace = "off"
[search]
min = "20kpps"
max = "{most}"
limit = "{limit}"
repeats = {repeats}
{devices}
[[traffic]]
schedule = "constant"
rates = ["20kpps"]
"""

DEVICE = """
[[device]]
driver = "{driver}"
link = "{link}"
name = "{name}_{n}"
"""


def main() -> int:
    """Search what --out lacks, print what it holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--searches", type=int, default=5, help="of each device")
    parser.add_argument("--only", nargs="*", choices=DEVICES, default=list(DEVICES))
    parser.add_argument("--trial", default="2s", help="its length")
    parser.add_argument("--sum", default="10s", help="of the trials that judge a load")
    parser.add_argument("--width", default="5%", help="between the bounds")
    parser.add_argument("--repeats", type=int, default=1, help="of a trial that was held up")
    parser.add_argument("--limit", default="120s", help="of a search")
    parser.add_argument("--latency", default="200ms", help="of the trials afterwards")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.only:
        search(asked, name, asked.out / name)
    heading("Capacity")
    print_found(asked.out)
    return 0


def search(asked: argparse.Namespace, name: str, out: Path) -> None:
    """Search a device as often as is asked for; what was cut short goes on."""
    if (out / SEARCH_FILE).is_file():
        return
    driver, link, most = DEVICES[name]
    numbers = range(1, asked.searches + 1)
    devices = [DEVICE.format(driver=driver, link=link, name=name, n=n) for n in numbers]
    values = {"name": name, "most": most, "devices": "".join(devices)}
    spec = asked.out / f"{name}.toml"
    spec.write_text(SPEC.format(**values, **vars(asked)))
    goal = f"trial={asked.trial},sum={asked.sum},width={asked.width}"
    goals = [word for one in ("ndr", "pdr") for word in ("--goal", f"{one}:{goal}")]
    words = [str(ROOT / "bin" / "taut"), "search", str(spec), *goals, "--out", str(out), "--wait"]
    resume = ["--resume"] if out.is_dir() else []
    ended = subprocess.run([*words, *resume], stdout=subprocess.DEVNULL, check=False)
    progress(f"{out.name}: exit status {ended.returncode}")


def print_found(folder: Path) -> None:
    """Print every device's lower bounds, and how far apart they are."""
    columns = ["device", "searches", "goal", "at least, kpkt/s", "spread", "below", "remarks"]
    rows = [
        row
        for name in DEVICES
        if (path := folder / name / SEARCH_FILE).is_file()
        for row in rows_of(name, parse(SearchDocument, read_json(path), str(path)))
    ]
    table([*columns, "loopback, kpkt/s", "trials", "s in all"], rows)
    print(f"Load average {', '.join(f'{one:.1f}' for one in os.getloadavg())}.")


def rows_of(name: str, document: SearchDocument) -> Iterator[list[str]]:
    """Give a row a goal."""
    own = [one for one in document.searches if not one.is_instrument]
    trials = [sum(len(step.trials) for step in one.steps) for one in own]
    for nth, goal in enumerate(document.goals):
        found = [one.found[nth] for one in own]
        lower = [one.lower.load_pps for one in found if one.lower is not None]
        upper = [one.upper.load_pps for one in found if one.upper is not None]
        remarks = sorted({one.irregular or "regular" for one in found})
        yield [
            name,
            f"{len(lower)} of {len(own)}",
            goal.name,
            range_of(lower),
            f"{100 * (max(lower) - min(lower)) / median(lower):.1f} %" if lower else "-",
            range_of(upper),
            ", ".join(remarks),
            f"{own[0].max_pps / 1e3:,.0f}",
            f"{min(trials)}-{max(trials)}",
            f"{document.took_s:.0f}",
        ]


def range_of(pps: Sequence[float]) -> str:
    """Write the median and the range in thousands."""
    if not pps:
        return "-"
    return f"{median(pps) / 1e3:,.0f} ({min(pps) / 1e3:,.0f}-{max(pps) / 1e3:,.0f})"


if __name__ == "__main__":
    sys.exit(main())
