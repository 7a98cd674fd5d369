"""`taut watch`, the work: look, show, rest, until the run has ended."""

import json
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live as LiveDisplay
from rich.text import Text

from taut.analysis.load import share_words
from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError, TautError
from taut.core.units import parse_duration_ns
from taut.records.documents.json_form import plain_object
from taut.records.documents.soak import SHARES, Latency
from taut.records.documents.watch import Stretch, WatchDocument
from taut.records.watched import Looker, is_under_way, looker_of, measured_cores, taut_cores
from taut.report import cells
from taut.report.paragraph import print_note, print_whole
from taut.report.soak import clock_words
from taut.testbed.core_locks import leave_measured

_EVERY_S, _SHARED_EVERY_S = 2.0, 10.0
_PATIENCE_S = 15.0
"""Between two trials of a run, and before the first, it may take so long."""
_LOOK_S = 0.5


def watch_run(run: Path, every: str | None, *, as_json: bool) -> None:
    """Show looks until the run ends. InputError: nothing is measured there."""
    every_s = None if every is None else _seconds(every)
    looker = _next_looker(run, 1.0 if as_json else _PATIENCE_S)
    if looker is None:
        raise InputError(
            f"{run}: nothing is measured there now; `taut report {run}` shows what was"
        )
    shared = _leave_measured_cores(run)
    if as_json:
        json.dump(plain_object(looker.look()), sys.stdout)
        print()
        return
    notes = Console(stderr=True)
    if shared:
        print_note(notes, shared)
    _follow(run, looker, every_s or (_SHARED_EVERY_S if shared else _EVERY_S))
    print_note(notes, f"{run}: ended; `taut report {run}` shows it")


def _seconds(every: str) -> float:
    ns = parse_duration_ns(every)
    if ns < 100_000_000:
        raise InputError(f"--every {every}: too often to be read; write 1s, or at least 100ms")
    return ns / 1e9


def _leave_measured_cores(run: Path) -> str | None:
    """Run where nothing is measured; give a warning where there is no such core."""
    # The locks last from the floor to the last trial and hold a kernel device's core, too.
    if leave_measured(measured_cores(run)):
        return None
    mine = os.sched_getaffinity(0)
    # Where taut itself shares a core it is the generator's: what that is kept from is void.
    if of_taut := mine & taut_cores(run):
        os.sched_setaffinity(0, of_taut)
    os.nice(19)
    return (
        f"warning: no core is free of the measurement: this shares core "
        f"{format_cpu_list(sorted(of_taut or mine))} with it, at the lowest priority"
    )


def _follow(run: Path, looker: Looker | None, every_s: float) -> None:
    console = Console()
    is_live = console.is_terminal and not console.is_dumb_terminal
    # No thread of its own draws: nothing runs between two looks.
    display = LiveDisplay(console=console, auto_refresh=False) if is_live else None
    with display or nullcontext():
        while looker is not None:
            try:
                seen = looker.look()
            except TautError:
                seen = None
            if seen is not None and display is not None:
                display.update(screen(seen), refresh=True)
            elif seen is not None:
                print_whole(console, line(seen))
                console.file.flush()
            if looker.has_ended:
                looker = _next_looker(run, _PATIENCE_S)
            else:
                time.sleep(every_s)


def _next_looker(run: Path, patience_s: float) -> Looker | None:
    """Wait for the next trial; None: there is none."""
    until = time.monotonic() + patience_s
    while True:
        found = looker_of(run)
        if found is not None and not found.has_ended:
            return found
        if is_under_way(run):
            # A trial is put away, which may take as long as it takes.
            until = time.monotonic() + patience_s
        if time.monotonic() >= until:
            return None
        time.sleep(_LOOK_S)


def line(seen: WatchDocument) -> str:
    """Say a look in one line: what came since the one before, and the maximum of all."""
    of = seen.since or seen.whole
    return (
        f"{seen.trial} {progress_words(seen)}: {_counts(of)}, {_figures(of.latency)}; "
        f"max so far {cells.time(seen.whole.latency.max_ns)}"
    )


def screen(seen: WatchDocument) -> Group:
    """Draw a look for a terminal."""
    rows = [("so far", seen.whole)] + ([("now", seen.since)] if seen.since else [])
    lines = [Text(f"{seen.trial}", "bold"), Text(progress_words(seen))]
    names = [*SHARES, "max"]
    lines.append(Text(f"{'':8}" + "".join(f"{name:>10}" for name in names), "dim"))
    for name, stretch in rows:
        of = stretch.latency
        values = [*(of.percentiles_ns[one] for one in SHARES), of.max_ns]
        lines.append(Text(f"{name:8}" + "".join(f"{cells.time(v):>10}" for v in values)))
    lines += [Text(f"{name}: {_counts(stretch)}") for name, stretch in rows]
    return Group(*lines)


def progress_words(seen: WatchDocument) -> str:
    """Say how far a trial is."""
    if seen.elapsed_ns < 0:
        return "warming up"
    now = clock_words(seen.elapsed_ns)
    if seen.duration_ns is None:
        return now
    share = min(1.0, seen.elapsed_ns / seen.duration_ns)
    return f"{now} of {clock_words(seen.duration_ns)} ({share_words(share)})"


def _counts(of: Stretch) -> str:
    c = of.counters
    pps = c["sent"] * 1e9 / of.length_ns if of.length_ns else 0
    return (
        f"sent {c['sent']:,} ({pps:,.0f}/s), lost {c['lost']:,}, unsent {c['unsent']:,}, "
        f"generator late {share_words(max(0, c['void']) / max(1, c['due']))}"
    )


def _figures(of: Latency) -> str:
    return ", ".join(
        [f"{name} {cells.time(of.percentiles_ns[name])}" for name in ("p50", "p99", "p99.9")]
        + [f"max {cells.time(of.max_ns)}"]
    )
