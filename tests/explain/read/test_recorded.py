"""Events in windows: each of them once, no stall cut, and what may have caused them before."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_trace import FLUSH, MadeTrace
from taut.explain.read import events, recorded
from taut.explain.read.events import events_together, read_events
from taut.explain.read.recorded import Recorded, survey
from taut.explain.read.senders import MOST_NS, join_senders
from taut.explain.walk.pollers import find_thread, most_met, threads_met

MS = 1_000_000


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    monkeypatch.setattr(events, "_BATCH", 7)
    monkeypatch.setattr(recorded, "_BATCH", 7)
    monkeypatch.setattr(recorded, "WINDOW", 20)


def calls(n):
    """Function calls of another core, each queued up to twice as long ago as may be joined."""
    rng = np.random.default_rng(5)
    trace = MadeTrace()
    for i in range(n):
        start = (i + 5) * 3 * MS
        sent_at = start - int(rng.integers(1, 2 * MOST_NS))
        trace.call(start, start + 2_000, FLUSH, csd=i + 1, sent_at=sent_at)
    return trace.add(5 * MS, "lost", 3, 6 * MS).add(200 * MS, "frequency", 1)


def written(tmp_path, table):
    pq.write_table(table, tmp_path / "events.parquet")
    return Recorded(tmp_path / "events.parquet")


def columns(found):
    return {name: values.tolist() for name, values in vars(found).items()}


def test_windows_have_every_event_once_and_those_that_may_have_caused_them(tmp_path):
    found = written(tmp_path, calls(60).table())
    whole, windows = read_events(tmp_path), list(found.windows())

    assert len(windows) > 5
    assert columns(events_together([window.own for window in windows])) == columns(whole)
    for window in windows:
        before = (whole.time_ns >= window.start_ns - MOST_NS) & (whole.time_ns < window.start_ns)
        first = window is windows[0]
        assert window.n_before == (0 if first else np.count_nonzero(before))


def test_no_window_ends_in_a_stall(tmp_path):
    found = written(tmp_path, calls(60).table())
    busy = np.array([20, 100, 150]) * MS, np.array([90, 120, 160]) * MS

    ends = [window.end_ns for window in found.windows(busy)][:-1]

    assert ends
    assert not any(np.any((busy[0] <= end) & (end <= busy[1])) for end in ends)


def test_a_survey_says_what_the_whole_trace_says(tmp_path):
    found, whole = survey(written(tmp_path, calls(60).table())), read_events(tmp_path)
    senders = join_senders(whole)

    assert 0 < senders.n_joined < senders.n_calls == 60
    assert (found.n_calls, found.n_joined) == (senders.n_calls, senders.n_joined)
    for kind in ("lost", "frequency"):
        marks, wanted = (one.take(one.of(kind)) for one in (found.marks, whole))
        assert columns(marks) == columns(wanted)
    assert found.marks.time_ns[0] == whole.time_ns[0]
    assert found.marks.time_ns[-1] == whole.time_ns[-1]


def test_events_out_of_order_are_one_window_in_order(tmp_path):
    table = calls(60).table()
    moved = pa.concat_tables([table.slice(100), table.slice(0, 100)])

    [window] = written(tmp_path, moved).windows()

    assert columns(window.events) == columns(read_events(tmp_path))
    assert window.is_all


def test_of_threads_met_equally_often_the_least_counts(tmp_path):
    trace = MadeTrace()
    for i, thread in enumerate((9, 8, 9, 8)):
        trace.vector(i * MS, i * MS + 100, thread=thread)
    starts = np.arange(4) * MS
    events_ = trace.events()

    assert find_thread(events_, 1, starts, starts + 200) == 8
    halves = [threads_met(events_, 1, part, part + 200) for part in (starts[:1], starts[1:])]
    assert most_met(halves[0] + halves[1]) == 8
