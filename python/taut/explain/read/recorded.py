"""A trial's kernel events in windows of time, in memory that does not follow the trace's length.

A window stands for itself: it holds whole stalls only, and before its own events those that may
have caused them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, is_in_order
from taut.explain.read.ahead import Ahead, rows_together
from taut.explain.read.batches import read_batches
from taut.explain.read.clocks import AGREED, Apart
from taut.explain.read.events import Events, event_batches, events_of, no_events
from taut.explain.read.senders import MOST_NS, join_senders
from taut.explain.read.spans import Spans
from taut.records import parquet
from taut.records.tables import EVENTS

_BATCH = 1 << 16
_ABOUT_ANY = (
    *("call_queue", "call_entry", "ipi_send", "ipi_send_for", "wakeup"),
    *("switch", "page_fault", "lost", "skipped"),
)
"""Events that may be about another core than the one that noted them, or about a thread of it."""

WINDOW = 1 << 18
"""Events of one window, more where a stall lasts longer than that."""

_EVENTS_A_GAP = 4
"""A gap, with what is said of it, takes as much memory as so many events."""


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
    """The events of a trial: read anew each time they are asked for, unless they are few."""

    def __init__(
        self, path: Path | None, whole: Events | None = None, apart: Apart = AGREED
    ) -> None:
        self._path, self._whole, self._apart = path, whole, apart
        # Cores whose clocks are put right are no longer in the order of the file.
        self._is_one = bool(apart.ahead_ns)
        self.is_there = path is not None or whole is not None
        """Whether events were recorded at all."""

    def as_one(self) -> None:
        """Have one window of all events from now on, which stay in memory."""
        self._is_one = True

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
        return rows_together(found)

    def windows(self, gaps: Sequence[Ahead[Spans]] = ()) -> Iterator[Window]:
        """Give all events in the order of time; no window ends in, or right behind, a gap.

        The first window reaches back, and the last one ahead, without end. Of each thread's gaps,
        too, none has more than so many; they are left where they are.
        """
        if self._n > WINDOW and not self._is_in_order:
            self._is_one = True
        events = Ahead(no_events(), self._parts())
        before, start, end = no_events(), BEFORE_ALL, BEFORE_ALL
        while end < AFTER_ALL:
            end = AFTER_ALL if self._is_one else _end(start, events, gaps)
            n_before, both = len(before), rows_together([before, events.take(end)])
            lead = int(np.searchsorted(both.time_ns, end - MOST_NS))
            # A copy: a part of an array keeps the whole of it in memory.
            before = both.take(np.arange(lead, len(both)))
            yield Window(both, n_before, start, end)
            start = end

    def _parts(self) -> Iterator[Events]:
        """Read the events; few of them, or all that are one window, only once."""
        if self._whole is None and (self._is_one or self._n <= WINDOW):
            self._whole = self._apart.put_right(events_of(self._batches(), self._n))
        if self._whole is not None:
            yield self._whole
        else:
            for batch in self._batches():
                yield events_of([batch], len(batch))

    @cached_property
    def _n(self) -> int:
        return 0 if self._path is None else int(parquet.read_metadata(self._path).num_rows)

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


def _end(start_ns: int, events: Ahead[Events], gaps: Sequence[Ahead[Spans]]) -> int:
    """Give the moment at which a window is full: the first from then on that lies in no gap."""
    most_gaps = WINDOW // _EVENTS_A_GAP
    at = min([events.nth(WINDOW + 1), *(one.nth(most_gaps + 1) for one in gaps)])
    at = max(at, start_ns + 1)
    while at < AFTER_ALL:
        ends = [one.before(at + 1).end_ns for one in gaps]
        last = max((int(end.max(initial=BEFORE_ALL)) for end in ends), default=BEFORE_ALL)
        if last < at:
            break
        at = last + 1
    return at


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
    return Survey(rows_together(marks), n_calls, n_joined)


def recorded_in(trial: Path, apart: Apart) -> Recorded:
    """Give a trial's events; none where it was not traced."""
    path = trial / EVENTS
    return Recorded(path if path.is_file() else None, apart=apart)
