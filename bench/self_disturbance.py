"""How long taut's own programs keep the generator off its core, from the trial's own trace.

    .venv/bin/python bench/self_disturbance.py --trials 20 --out /var/tmp/quiet
    .venv/bin/python bench/self_disturbance.py --taut old=/other/bin/taut --taut new=bin/taut

Each trial is one `taut run` of the floor (the generator's own loop over memif, no device), traced.
With several programs named the trials are made in turn. Trials that are in --out already are not
made again: a long series can be measured in parts.

A piece is the time from a switch away from the generator's measuring thread until the switch back
to it, or to a thread that is not taut's own. Interrupts and what the hypervisor took meanwhile are
in it: neither can be told apart from the thread that had the core. Only the measured time counts,
warm-up left out.
"""

import argparse
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from harness import heading, progress, table
from processes import tree
from taut.core.errors import InputError
from taut.explain.read.events import read_events, read_notes
from taut.records.documents.trial import CoresOfTrial
from taut.records.rundir import RunDirectory

ROOT = Path(__file__).resolve().parent.parent
SPEC = """
name = "floor"
duration = "{seconds:g}s"
warm_up = "500ms"
repetitions = 1
floor = false
trace = "{trace}"
[[device]]
driver = "loopback"
link = "memif"
[[traffic]]
rates = ["{rate}"]
"""
LONG_NS = 200_000
# Of a stretch that --trace tail did not keep: no packet was late in it.
UNKNOWN = -1
THREADS = "threads.json"
LOOK_S = 0.2
DRAIN_S = 2.0
# It is started just before the warm-up, when all other threads of a run are there.
LAST_THREAD = "taut-writer"


Times = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Piece:
    """A stretch of the measured time in which the generator's core ran something else."""

    who: str  # the thread that had most of it
    is_own: bool
    start_ns: int  # since the trial's time 0
    ns: int


@dataclass(frozen=True)
class Seen:
    """What one trial saw."""

    label: str
    trial: str
    seconds: float
    pieces: tuple[Piece, ...]

    def own(self) -> list[int]:
        """Lengths of taut's own pieces."""
        return [piece.ns for piece in self.pieces if piece.is_own]


def main() -> None:
    """Measure what is missing, then print, or write as JSON."""
    options = parse()
    programs = dict(entry.split("=", 1) for entry in options.taut)
    measure(programs, options)
    seen = [look(label, path) for label in programs for path in runs_of(options.out / label)]
    if options.json:
        json.dump([asdict(one) for one in seen], sys.stdout, indent=1)
        print()
        return
    heading("Self-disturbance")
    for label in programs:
        print_label(label, [one for one in seen if one.label == label])


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=20, help="of each program")
    parser.add_argument("--seconds", type=float, default=3, help="of one trial, after warm-up")
    parser.add_argument("--rate", default="100kpps")
    parser.add_argument("--trace", default="continuous", choices=("continuous", "tail"))
    parser.add_argument("--out", type=Path, required=True, help="keep the runs here, LABEL/NUMBER")
    parser.add_argument(
        "--taut", action="append", metavar="LABEL=PROGRAM", help="a taut to measure; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="every piece of every trial")
    options = parser.parse_args()
    options.taut = options.taut or [f"taut={ROOT / 'bin' / 'taut'}"]
    return options


def measure(programs: dict[str, str], options: argparse.Namespace) -> None:
    """Make the trials that are missing, forwards and backwards by turns."""
    options.out.mkdir(parents=True, exist_ok=True)
    spec = options.out / "floor.toml"
    spec.write_text(SPEC.format(seconds=options.seconds, rate=options.rate, trace=options.trace))
    for number in range(options.trials):
        for label in list(programs)[:: 1 if number % 2 == 0 else -1]:
            out = options.out / label / f"{number:02}"
            if (out / THREADS).exists():
                continue
            run(programs[label], spec, out)
            progress(f"{label}, {number + 1}: longest {max(look(label, out).own(), default=0)} ns")


def run(program: str, spec: Path, out: Path) -> None:
    """Make one run whose progress goes to a terminal, as somebody who watches it has it."""
    # Half of a run is what an interrupted series left.
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    ours, its = pty.openpty()
    os.set_blocking(ours, False)
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("TAUT_BIN_DIR", None)
    command = [program, "run", str(spec), "--out", str(out)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=environment
    ) as process:
        os.close(its)
        said = b""
        threads: list[int] = []
        while process.poll() is None and not threads:
            time.sleep(LOOK_S)
            threads = threads_when_ready(process.pid)
        while process.poll() is None and not RunDirectory(out).trials():
            # Rarely: who reads a terminal runs on some core too.
            time.sleep(DRAIN_S)
            said += drained(ours)
        # The trial is whole: its report is not asked for.
        process.send_signal(signal.SIGINT)
    os.close(ours)
    if not RunDirectory(out).trials():
        sys.exit(f"bench: {' '.join(command)} failed:\n{said.decode(errors='replace')[-2000:]}")
    (out / THREADS).write_text(json.dumps(threads))


def threads_when_ready(pid: int) -> list[int]:
    """Give all threads of a run; none before the generator has started its last one."""
    try:
        tasks = [task for process in tree(pid) for task in Path(f"/proc/{process}/task").iterdir()]
    except OSError:  # one ended meanwhile
        return []
    names = {int(task.name): name_of(task) for task in tasks}
    return sorted(names) if LAST_THREAD in names.values() else []


def name_of(task: Path) -> str:
    """Give a thread's name; empty when it is gone."""
    try:
        return (task / "comm").read_text().strip()
    except OSError:
        return ""


def drained(terminal: int) -> bytes:
    """Take what a terminal holds."""
    said = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # nothing now, or the last writer is gone
            return said
        if not part:
            return said
        said += part


def runs_of(folder: Path) -> list[Path]:
    """Give the runs that are whole."""
    return sorted(path.parent for path in folder.glob(f"*/{THREADS}"))


def look(label: str, run_path: Path) -> Seen:
    """Find the pieces of a run's one trial."""
    [trial] = RunDirectory(run_path).trials()
    events, notes = read_events(trial.path), read_notes(trial.path)
    if events is None:
        raise InputError(f"{trial.path}: not traced")
    traffic, cores = trial.meta.traffic, trial.meta.cores or CoresOfTrial()
    start_ns, ns = traffic.warm_up_ns or 0, traffic.duration_ns or 0
    is_switch = events.of("switch") & (events.cpu == cores.generator)
    chosen = events.take(is_switch | events.of("skipped"))
    pieces = pieces_of(
        chosen.time_ns,
        np.where(
            chosen.of("switch"), (chosen.arg1 & np.uint64(0xFFFFFFFF)).astype(np.int64), UNKNOWN
        ),
        (start_ns, start_ns + ns),
        notes.threads,
        frozenset(json.loads((run_path / THREADS).read_text())),
    )
    return Seen(label, run_path.name, ns / 1e9, tuple(pieces))


def pieces_of(
    time_ns: Times,
    thread: Times,
    window_ns: tuple[int, int],
    names: Mapping[int, str],
    own: Set[int],
) -> Iterator[Piece]:
    """Give the pieces in a window; `thread` is who gets the core at a time, `own` who is taut's."""
    start_ns, end_ns = window_ns
    # What runs when the window opens began before it.
    first = max(int(np.searchsorted(time_ns, start_ns, "right")) - 1, 0)
    last = int(np.searchsorted(time_ns, end_ns))
    edges = np.clip(np.append(time_ns[first:last], end_ns), start_ns, end_ns)
    threads = thread[first:last].tolist()
    spans = [*zip(threads, edges[:-1].tolist(), np.diff(edges).tolist(), strict=True)]
    had: Counter[int] = Counter()
    for tid, _, ns in spans:
        had[tid] += ns if tid in own else 0
    generator = had.most_common(1)[0][0] if had else None

    def owner(span: tuple[int, int, int]) -> object:
        """Neighbours of one owner are one piece: all of taut's own, or one other thread."""
        return "own" if span[0] in own and span[0] != generator else span[0]

    for whose, group in groupby(spans, owner):
        if whose not in (generator, UNKNOWN):
            yield piece_of([*group], names, whose == "own")


def piece_of(spans: list[tuple[int, int, int]], names: Mapping[int, str], is_own: bool) -> Piece:
    """Join what followed each other without the generator between."""
    tid = max(spans, key=lambda span: span[2])[0]
    who = names.get(tid, f"thread {tid}") if tid else "idle"
    return Piece(who, is_own, spans[0][1], sum(ns for _, _, ns in spans))


def print_label(label: str, seen: Sequence[Seen]) -> None:
    """Print who had the core, and the longest piece of the trials."""
    worst = sorted(max(one.own(), default=0) for one in seen)
    seconds = sum(one.seconds for one in seen)
    print(f"{label}: {len(seen)} trials, {seconds:g} s measured.\n")
    rows = []
    for is_ours in (True, False):
        pieces = [p for one in seen for p in one.pieces if p.is_own == is_ours]
        for who in sorted({piece.who for piece in pieces}):
            lengths = [piece.ns for piece in pieces if piece.who == who]
            rows.append(row_of(who, lengths, is_ours, seconds))
    table(["who", "taut's", "longest us", "us a second", "pieces", "> 200 us"], rows)
    middle = worst[len(worst) // 2] if worst else 0
    print(
        f"Longest piece of taut's own: {max(worst, default=0) / 1e3:.0f} us; median of the trials' "
        f"longest {middle / 1e3:.0f} us; trials with one above 200 us: "
        f"{sum(ns > LONG_NS for ns in worst)} of {len(worst)}.\n"
    )


def row_of(who: str, lengths: Sequence[int], is_ours: bool, seconds: float) -> list[str]:
    """Write one line of the table."""
    return [
        who,
        "yes" if is_ours else "no",
        f"{max(lengths) / 1e3:.0f}",
        f"{sum(lengths) / 1e3 / seconds:.1f}",
        str(len(lengths)),
        str(sum(ns > LONG_NS for ns in lengths)),
    ]


if __name__ == "__main__":
    main()
