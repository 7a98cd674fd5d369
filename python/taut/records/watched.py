"""A run that is under way, seen from outside: which trial runs, and what it has counted."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from taut.core.cpus import CpuSet, parse_shown_list
from taut.core.errors import InputError
from taut.core.files import TEMPORARY_PREFIX
from taut.records.documents.soak import Latency
from taut.records.documents.watch import Stretch, WatchDocument
from taut.records.live import Fresh, Live, counted, live_path, rest_a_moment
from taut.records.segments import latencies_of, merged
from taut.records.tables import TRIALS

_PROC = Path("/proc")

_STILL_S = 30.0
"""A trial of which nothing is written for so long, and whose generator is gone, is a dead one."""


class Looker:
    """Looks at one trial again and again."""

    def __init__(self, folder: Path, path: Path) -> None:
        """InputError: its generator has ended."""
        self._folder = folder
        self._path = path
        self._live = Live(path)
        self._seen = [np.zeros(self._live.buckets.n, np.uint64) for _ in range(2)]
        self._before: Stretch | None = None

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing more to see."""
        # The link leads to an open file of the generator: it leads nowhere when that is dead.
        return self._live.has_ended or not self._path.exists()

    def look(self) -> WatchDocument:
        """Read what is counted now."""
        live, before = self._live, self._before
        elapsed_ns = live.elapsed_ns() - live.warm_up_ns
        counters, gaps = counted(live.counters()), live.gaps()
        fresh = [
            live.add_latencies(seen, rest_a_moment, is_void=bool(is_void))
            for is_void, seen in enumerate(self._seen)
        ]
        latency, on_time = self._figures([_occupied(seen) for seen in self._seen])
        whole = Stretch(max(elapsed_ns, 0), counters, latency, on_time, gaps.n, gaps.total_ns)
        self._before = whole
        since = None
        if before is not None:
            latency, on_time = self._figures(fresh)
            since = Stretch(
                whole.length_ns - before.length_ns,
                {name: n - before.counters[name] for name, n in counters.items()},
                latency,
                on_time,
                whole.n_gaps - before.n_gaps,
                whole.gaps_ns - before.gaps_ns,
            )
        trials = self._folder.parent
        return WatchDocument(
            trial=self._folder.name.removeprefix(TEMPORARY_PREFIX),
            n_done=sum(1 for path in trials.glob("[0-9]*") if path.is_dir()),
            elapsed_ns=elapsed_ns,
            duration_ns=live.duration_ns,
            whole=whole,
            since=since,
        )

    def _figures(self, found: list[Fresh]) -> tuple[Latency, Latency]:
        on_time, void = (latencies_of(one, self._live.buckets) for one in found)
        return merged([on_time, void]).figures(), on_time.figures()


def _occupied(seen: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> Fresh:
    index = np.flatnonzero(seen)
    return Fresh(index, seen[index])


def looker_of(run: Path) -> Looker | None:
    """Give who looks at the trial that is under way; None: none is at this moment.

    InputError: there is no such run.
    """
    if not run.is_dir():
        raise InputError(f"{run}: no such run directory; give one that a taut measures into")
    for folder in _under_way(run):
        path = live_path(folder)
        if path is not None and path.exists():
            with suppress(InputError):
                return Looker(folder, path)
    return None


def is_under_way(run: Path) -> bool:
    """Whether a trial is measured, or being put away; what a kill left is neither."""
    return any(_changed_s(folder) < _STILL_S for folder in _under_way(run))


def _changed_s(folder: Path) -> float:
    """Say how long ago anything of a trial was written."""
    newest = 0.0
    for path in (folder, *folder.glob("*"), *folder.glob("raw/*")):
        with suppress(OSError):
            newest = max(newest, path.lstat().st_mtime)
    return time.time() - newest


def _under_way(run: Path) -> Iterator[Path]:
    yield from sorted((run / TRIALS).glob(f"{TEMPORARY_PREFIX}*"))


def measured_cores(run: Path) -> CpuSet:
    """Give the cores that a trial's programs are bound to; empty where none is under way."""
    found: set[int] = set()
    for taut in _measuring(run):
        with suppress(OSError, ValueError):
            for child in (_PROC / taut / "task" / taut / "children").read_text().split():
                for task in (_PROC / child / "task").iterdir():
                    cores = parse_shown_list(_status(int(task.name), "Cpus_allowed_list"))
                    # Who polls is bound to one core; who may run anywhere chooses none.
                    found.update(cores if len(cores) == 1 else ())
    return tuple(sorted(found))


def taut_cores(run: Path) -> set[int]:
    """Give the cores of the taut that measures a run itself; empty where no trial is under way."""
    found: set[int] = set()
    for taut in _measuring(run):
        with suppress(OSError):
            found |= os.sched_getaffinity(int(taut))
    return found


def _measuring(run: Path) -> Iterator[str]:
    """Give the process that measures each trial under way: who started the generator."""
    for folder in _under_way(run):
        path = live_path(folder)
        if path is not None:
            with suppress(OSError, ValueError, IndexError):
                yield _status(int(str(path.readlink()).split("/")[2]), "PPid")


def _status(process: int, key: str) -> str:
    text = (_PROC / str(process) / "status").read_text()
    return next(line.split()[1] for line in text.splitlines() if line.startswith(f"{key}:"))
