"""The rows of a soak, taken while it measures: every so long what the generator has counted since.

A thread of taut reads what the generator publishes (records/live.py), in small pieces, on taut's
own core. Nothing is asked of the generator, and nothing of it is restarted: all rows of a segment
are windows of one measurement.
"""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from taut.core.errors import TautError
from taut.experiment.cores import Cores
from taut.experiment.memory import give_back, keep_little, resident_bytes
from taut.experiment.plan import Trial
from taut.records.documents.load import LOOPBACK
from taut.records.documents.soak import Row, SegmentStart
from taut.records.live import LIVE_FILE, Counts, Fresh, Live, counted, rest_a_moment
from taut.records.segments import NONE, Latencies, SegmentWriter, latencies_of, merged

_LOOK_S = 0.05
_JUMP_NS = 1_000_000_000
"""A clock that is set by less is being slewed, or is not worth a word."""

OnRow = Callable[[SegmentStart, Row], str | None]
"""Told of each row; gives why the soak is to end, or None."""


class Rows:
    """Takes the rows of every trial of a run (experiment.beside.Beside)."""

    def __init__(
        self,
        folder: Path,
        every_ns: int,
        limits_ns: Sequence[int],
        on_row: OnRow,
        strict_ns: Set[int] = frozenset(),
    ) -> None:
        """`strict_ns`: limits that are themselves too slow."""
        self._folder = folder
        self._every_ns = every_ns
        self._limits_ns = limits_ns
        self._strict_ns = strict_ns
        self._on_row = on_row
        self._trial: Trial | None = None
        self._generator: int | None = None
        self.stopped: str | None = None
        """Why the generator was told to end early."""
        self.failed: str | None = None
        """Why no more rows could be kept."""

    @property
    def ends_early(self) -> bool:
        """Whether the generator was told to end, and what it measured counts."""
        return self.stopped is not None

    @property
    def is_measuring(self) -> bool:
        """Whether a generator runs that can be told to end."""
        return self._generator is not None

    def stop(self, why: str) -> None:
        """Have the generator end now; what it measured counts."""
        if self.stopped is None:
            self.stopped = why
        if self._generator is not None:
            os.kill(self._generator, signal.SIGINT)

    def device_ready(
        self, trial: Trial, cores: Cores, device: int | None
    ) -> AbstractContextManager[object]:
        """Note which trial it is."""
        del cores, device
        self._trial = trial
        return nullcontext()

    @contextmanager
    def generating(self, generator: int, raw: Path) -> Iterator[None]:
        """Take rows from when packets are sent until all are counted."""
        has_ended = threading.Event()
        thread = threading.Thread(target=self._take, args=(raw, has_ended), name="rows")
        self._generator = generator
        thread.start()
        try:
            if self.stopped is not None:
                self.stop(self.stopped)
            yield
        finally:
            self._generator = None
            has_ended.set()
            thread.join()

    def _take(self, raw: Path, has_ended: threading.Event) -> None:
        try:
            self._take_rows(raw, has_ended)
        except BaseException as error:  # noqa: BLE001 - nobody else would hear of it
            known = isinstance(error, OSError | TautError)
            why = getattr(error, "strerror", None) or (error if known else repr(error))
            self.failed = f"rows are not kept any more: {why}"
            self.stop(self.failed)

    def _take_rows(self, raw: Path, has_ended: threading.Event) -> None:
        # Said once it is open: it is there before anything is sent.
        while not (raw / LIVE_FILE).exists():
            if has_ended.wait(_LOOK_S):
                return
        live = Live(raw / LIVE_FILE)
        while not live.has_started:
            if has_ended.wait(_LOOK_S):
                return
        self._follow(live, has_ended)

    def _follow(self, live: Live, has_ended: threading.Event) -> None:
        trial = self._trial
        if trial is None:
            raise TautError("a generator runs for no trial")
        start = SegmentStart(
            trial=trial.name,
            device=trial.device.name,
            is_control=trial.device.driver == LOOPBACK,
            started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            tsc_hz=live.tsc_hz,
            warm_up_ns=live.warm_up_ns,
            planned_ns=trial.duration_ns,
            every_ns=self._every_ns,
            exact_bits=live.buckets.exact_bits,
            sub_bits=live.buckets.sub_bits,
        )
        counting = _Counting(live, self._limits_ns, self._strict_ns)
        writer = SegmentWriter(self._folder / trial.name, start)
        keep_little()
        # What is there now is never looked at again: a collection then takes microseconds.
        gc.freeze()
        try:
            for n in range(1 << 62):
                due_ns = (n + 1) * self._every_ns
                # The last row is taken when the last packet is back, or lost.
                is_over = live.duration_ns is not None and due_ns >= live.duration_ns
                left_s = (live.warm_up_ns + due_ns - live.elapsed_ns()) / 1e9
                is_last = has_ended.wait(None if is_over else max(0.0, left_s))
                row = counting.row(n, is_last=is_last)
                if row.end_ns > row.start_ns or any(row.counters.values()):
                    writer.add(row, *counting.whole())
                    why = self._on_row(start, row)
                    gc.collect()
                    give_back()
                    if why is not None and not is_last:
                        self.stop(why)
                        has_ended.wait()
                        is_last = False
                if is_last:
                    return
        finally:
            gc.unfreeze()
            writer.close()


class _Counting:
    """What was counted up to the last row."""

    def __init__(self, live: Live, limits_ns: Sequence[int], strict_ns: Set[int]) -> None:
        self._live = live
        self._limits_ns = limits_ns
        self._strict_ns = strict_ns
        # Written, as np.zeros are not: all their memory is there before the first row.
        self._seen: tuple[Counts, Counts] = (
            np.full(live.buckets.n, 0, np.uint64),
            np.full(live.buckets.n, 0, np.uint64),
        )
        self._counters: dict[str, int] = {}
        self._end_ns = 0
        self._n_gaps = self._gaps_ns = 0
        self._clocks_ns = clocks_apart_ns()

    def row(self, n: int, *, is_last: bool) -> Row:
        """Take the next row; the last one is taken without rests."""
        live, rest = self._live, (_no_rest if is_last else rest_a_moment)
        began = time.monotonic_ns()
        end_ns = max(0, live.elapsed_ns() - live.warm_up_ns)
        if live.duration_ns is not None:
            end_ns = min(end_ns, live.duration_ns)
        counters = counted(live.counters())
        gaps = live.gaps()
        buckets = live.buckets
        on_time = latencies_of(live.add_latencies(self._seen[0], rest, is_void=False), buckets)
        void = latencies_of(live.add_latencies(self._seen[1], rest, is_void=True), buckets)
        both = merged([on_time, void])
        row = Row(
            n=n,
            start_ns=self._end_ns,
            end_ns=end_ns,
            counters={name: v - self._counters.get(name, 0) for name, v in counters.items()},
            latency=both.figures(),
            on_time=on_time.figures(),
            above=self._above(both),
            above_on_time=self._above(on_time),
            memory_bytes=resident_bytes(os.getpid()),
            n_gaps=gaps.n - self._n_gaps,
            gaps_ns=gaps.total_ns - self._gaps_ns,
            took_ns=time.monotonic_ns() - began,
            notes=tuple(self._jumps()),
            sum_ns=both.sum_ns,
        )
        self._counters, self._end_ns = counters, end_ns
        self._n_gaps, self._gaps_ns = gaps.n, gaps.total_ns
        return row

    def _above(self, found: Latencies) -> dict[str, int]:
        return {str(ns): found.above(ns, is_strict=ns in self._strict_ns) for ns in self._limits_ns}

    def whole(self) -> tuple[Fresh, Fresh]:
        """Give all packets so far, on time and void, by bucket."""
        return _occupied(self._seen[0]), _occupied(self._seen[1])

    def _jumps(self) -> Iterator[str]:
        """Say that the time of day was set; rows do not know it, so nothing is lost by that."""
        now_ns = clocks_apart_ns()
        jumped_ns, self._clocks_ns = now_ns - self._clocks_ns, now_ns
        if abs(jumped_ns) > _JUMP_NS:
            yield f"the clock of the machine was set by {jumped_ns / 1e9:+,.1f} s"


def _occupied(seen: Counts) -> Fresh:
    index = np.flatnonzero(seen)
    return Fresh(index, seen[index]) if index.size else Fresh(NONE, NONE.astype(np.uint64))


def clocks_apart_ns() -> int:
    """Give the time of day beside a clock that nobody sets."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _no_rest() -> None:
    pass
