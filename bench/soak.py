"""A long traced run: memory, what it leaves on disk, and that nothing is left behind.

    .venv/bin/python bench/soak.py --hours 1 --rate 10kpps

`taut run` on the first example's eager forwarder; memory is looked at every few seconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from harness import table
from processes import tree

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_S = 5.0
QUARTERS = 4
LARGE_BYTES = 100_000


def main() -> None:
    """Exit with 1 when `taut run` failed or left something behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--rate", default="10kpps")
    parser.add_argument("--trace", default="tail", choices=("tail", "continuous", "off"))
    parser.add_argument("--out", type=Path, default=None, help="keep the run here")
    asked = parser.parse_args()
    before = _left_behind()
    with tempfile.TemporaryDirectory(prefix="taut-soak-", dir="/var/tmp") as folder:
        out = asked.out or Path(folder) / "run"
        memory, disk, status = _watch(_command(asked, out), out)
        print(f"taut run ended with status {status} after {memory.seconds[-1]:.0f} s.\n")
        memory.print_table()
        print(f"\nMost on disk at any time: {max(disk) / 1e6:.0f} MB.\n")
        large = ((name, size) for name, size in _sizes(out) if size > LARGE_BYTES)
        table(["left on disk", "MB"], [[name, f"{size / 1e6:.1f}"] for name, size in large])
        print(f"\n{_trace(out)}\n")
    left = sorted((_left_behind() - before) | _alive(memory.processes))
    print("Left behind: " + (", ".join(left) or "nothing") + ".")
    sys.exit(1 if left or status else 0)


def _command(asked: argparse.Namespace, out: Path) -> Sequence[str]:
    values = {
        "duration": f"{asked.hours * 3600:g}s",
        "repetitions": 1,
        "floor": "false",
        "trace": asked.trace,
        "traffic.constant.rates": f"['{asked.rate}']",
    }
    sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    spec = str(ROOT / "examples" / "first-look.toml")
    only = ["--only", "*eager*", "--out", str(out)]
    return [str(ROOT / "bin" / "taut"), "run", spec, *only, *sets]


class Memory:
    """Resident memory of each program over time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.processes: dict[int, str] = {}
        self._kib: dict[str, list[tuple[float, int]]] = defaultdict(list)

    def look(self, pid: int, now_s: float) -> None:
        """Add what all processes below this one have."""
        self.seconds.append(now_s)
        by_program: dict[str, int] = defaultdict(int)
        for process in tree(pid):
            fields = _status(process)
            if "VmRSS" in fields:
                by_program[fields["Name"]] += int(fields["VmRSS"].split()[0])
                self.processes[process] = fields["Name"]
        for program, kib in by_program.items():
            self._kib[program].append((now_s, kib))

    def print_table(self) -> None:
        """Print the maximum of each quarter of the time, in MB."""
        edges = np.linspace(0, self.seconds[-1] + 1, QUARTERS + 1)
        rows = []
        for program, seen in sorted(self._kib.items()):
            at, kib = np.array(seen).T
            quarter = np.searchsorted(edges, at, "right") - 1
            most = [kib[quarter == i].max(initial=0) * 1024 / 1e6 for i in range(QUARTERS)]
            rows.append([program, *(f"{mb:.0f}" if mb else "-" for mb in most)])
        names = [f"max RSS, MB, quarter {i + 1}" for i in range(QUARTERS)]
        table(["program", *names], rows)


def _watch(command: Sequence[str], out: Path) -> tuple[Memory, list[int], int]:
    memory, disk = Memory(), [0]
    start = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            memory.look(process.pid, time.monotonic() - start)
            disk.append(sum(size for _, size in _sizes(out)))
            time.sleep(SAMPLE_S)
    return memory, disk, process.returncode


def _status(pid: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _sizes(folder: Path) -> list[tuple[str, int]]:
    sizes = []
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file():
                sizes.append((path.name, path.stat().st_size))
        except OSError:
            continue  # gone meanwhile
    return sizes


def _trace(out: Path) -> str:
    documents = list(out.rglob("trace.json"))
    if not documents:
        return "Not traced."
    document = json.loads(documents[0].read_text())
    large = {"threads", "functions", "irqs", "counters", "events", "missing"}
    kept = {key: value for key, value in document.items() if key not in large}
    return f"trace.json: `{json.dumps(kept)}`"


def _left_behind() -> set[str]:
    """What a run makes and has to remove again."""
    found = {f"namespace {path.name}" for path in _names("/run/netns")}
    found |= {f"file {path}" for path in _names("/dev/shm") if path.name.startswith("taut")}
    found |= {f"instance {path.name}" for path in _names("/sys/kernel/tracing/instances")}
    pages = Path("/proc/sys/vm/nr_hugepages").read_text().strip()
    found.add(f"{pages} huge pages")
    return found


def _alive(processes: Mapping[int, str]) -> set[str]:
    return {
        f"process {pid} {name}"
        for pid, name in processes.items()
        if _status(pid).get("Name") == name
    }


def _names(folder: str) -> list[Path]:
    path = Path(folder)
    return list(path.iterdir()) if path.is_dir() else []


if __name__ == "__main__":
    main()
