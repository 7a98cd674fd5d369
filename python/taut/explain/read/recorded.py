"""A trial's kernel events in windows of time, in memory that does not follow the trace's length.

A window stands for itself: it holds whole stalls only, and before its own events those that may
have caused them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, is_in_order
from taut.explain.read.batches import read_batches
from taut.explain.read.events import (
    EVENTS,
    Events,
    event_batches,
    events_of,
    events_together,
    no_events,
)
from taut.explain.read.senders import MOST_NS, join_senders
from taut.explain.read.spans import NO_STRETCHES, Stretches

_BATCH = 1 << 16
_ABOUT_ANY = (
    *("call_queue", "call_entry", "ipi_send", "ipi_send_for", "wakeup"),
    *("switch", "page_fault", "lost", "skipped"),
)
"""Events that may be about another core than the one that noted them, or about a thread of it."""

WINDOW = 1 << 19
"""Events of one window, more where a stall lasts longer than that."""


@dataclass(frozen=True)
class Window:
    """The events of a stretch of time."""

    events: Events
    n_before: int
    """So many events in front are of the window before: they may have caused what follows."""
    start_ns: int
    end_ns: int
    """The first moment behind the window."""

    @property
    def is_all(self) -> bool:
        """Whether there is no other window."""
        return self.start_ns == BEFORE_ALL and self.end_ns == AFTER_ALL

    @property
    def own(self) -> Events:
        """The events of this window and of no other."""
        return self.events.take(slice(self.n_before, None))


class Recorded:
    """The events of a trial: read anew each time they are asked for, unless they are one window."""

    def __init__(self, path: Path | None, whole: Events | None = None) -> None:
        self._path, self._whole = path, whole
        self.is_there = path is not None or whole is not None
        """Whether events were recorded at all."""

    def whole(self) -> Events:
        """Give all events at once, which then stay in memory."""
        if self._whole is None:
            self._whole = events_of(self._batches(), self._n)
        return self._whole

    def about(self, core: int) -> Events:
        """Give at once the events of a core, and those of others that may have to do with it."""
        found = []
        for window in self.windows():
            own = window.own
            if window.is_all:
                return own
            marked = (own.cpu == core) | own.of(*_ABOUT_ANY)
            marked[:1] |= window.start_ns == BEFORE_ALL
            marked[-1:] |= window.end_ns == AFTER_ALL
            found.append(own.take(marked))
        return events_together(found)

    def windows(self, busy: Stretches = NO_STRETCHES) -> Iterator[Window]:
        """Give all events in the order of time; no window ends in, or next to, a stretch of `busy`.

        The first window reaches back, and the last one ahead, without end.
        """
        if self._whole is not None or self._n <= WINDOW or not self._is_in_order:
            yield Window(self.whole(), 0, BEFORE_ALL, AFTER_ALL)
            return
        held: list[Events] = []
        n, n_before, start, end = 0, 0, BEFORE_ALL, AFTER_ALL
        for batch in self._batches():
            part = events_of([batch], len(batch))
            held.append(part)
            n += len(part)
            if end == AFTER_ALL and n - n_before >= WINDOW:
                end = _free(busy, int(part.time_ns[-1]))
            if part.time_ns[-1] < end:
                continue
            events = events_together(held)
            cut, lead = np.searchsorted(events.time_ns, [end, end - MOST_NS]).tolist()
            # Copies: a part of an array keeps the whole of it in memory.
            held = [events.take(np.arange(lead, n))]
            yield Window(events.take(slice(cut)), n_before, start, end)
            n, n_before, start, end = n - lead, cut - lead, end, AFTER_ALL
        yield Window(events_together(held), n_before, start, AFTER_ALL)

    @cached_property
    def _n(self) -> int:
        return 0 if self._path is None else int(pq.read_metadata(self._path).num_rows)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return iter(()) if self._path is None else event_batches(self._path)

    @cached_property
    def _is_in_order(self) -> bool:
        """Whether the file is in the order of time: a clock that is set back breaks it."""
        last = BEFORE_ALL
        for batch in () if self._path is None else read_batches(self._path, ["time_ns"], _BATCH):
            times = batch.column("time_ns").to_numpy()
            if times[0] < last or not is_in_order(times):
                return False
            last = int(times[-1])
        return True


def _free(busy: Stretches, at_ns: int) -> int:
    """Give the first moment from this one on that lies in no stretch."""
    start, end = busy
    at = int(np.searchsorted(start, at_ns, "right")) - 1
    return max(at_ns, int(end[at]) + 1) if at >= 0 else at_ns


@dataclass(frozen=True)
class Survey:
    """What is to be known of a trace as a whole."""

    marks: Events
    """Events without a duration (lost, skipped, a machine check, a changed frequency), the first
    event and the last one."""
    n_calls: int
    """Function calls from other cores."""
    n_joined: int
    """Those of them whose sender is known."""


_MARKS = ("lost", "skipped", "machine_check", "frequency")


def survey(recorded: Recorded) -> Survey:
    """Go through all events once."""
    marks, n_calls, n_joined = [no_events()], 0, 0
    for window in recorded.windows():
        own = window.own
        is_mark = own.of(*_MARKS)
        is_mark[:1] = is_mark[-1:] = True
        marks.append(own.take(is_mark))
        senders = join_senders(window.events, window.n_before)
        n_calls, n_joined = n_calls + senders.n_calls, n_joined + senders.n_joined
    return Survey(events_together(marks), n_calls, n_joined)


def recorded_in(trial: Path) -> Recorded:
    """Give a trial's events; none where it was not traced."""
    path = trial / EVENTS
    return Recorded(path if path.is_file() else None)
