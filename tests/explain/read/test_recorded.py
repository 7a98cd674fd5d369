"""Events in windows: each of them once, no stall cut, and what may have caused them before."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_trace import FLUSH, MadeTrace, gap_rows
from taut.explain.read import events, recorded
from taut.explain.read.ahead import Ahead, rows_together
from taut.explain.read.events import no_events, read_events
from taut.explain.read.recorded import Recorded, survey
from taut.explain.read.senders import MOST_NS, join_senders
from taut.explain.read.spans import spans_of
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
    assert columns(rows_together([window.own for window in windows])) == columns(whole)
    for window in windows:
        before = (whole.time_ns >= window.start_ns - MOST_NS) & (whole.time_ns < window.start_ns)
        first = window is windows[0]
        assert window.n_before == (0 if first else np.count_nonzero(before))


def of_thread(thread, *gaps):
    """Give a thread's gaps, in ms, as they are read from its log: a few at a time."""
    spans = spans_of(gap_rows(*((a * MS, b * MS, thread) for a, b in gaps)), thread, 1, no_events())
    parts = (spans.take(slice(at, at + 2)) for at in range(0, len(spans), 2))
    return Ahead(spans.take(slice(0)), parts)


def test_no_window_ends_in_a_gap_of_any_thread(tmp_path):
    found = written(tmp_path, calls(60).table())
    one, other = [(20, 90), (95, 96), (150, 160)], [(21, 22), (85, 100), (101, 120), (155, 170)]
    ahead = of_thread("generator", *one), of_thread("forwarder", *other)

    windows = list(found.windows(ahead))

    ends = [window.end_ns for window in windows]
    assert ends[0] == 100 * MS + 1
    assert not any(a * MS <= end <= b * MS for a, b in (*one, *other) for end in ends[:-1])
    assert columns(rows_together([w.own for w in windows])) == columns(read_events(tmp_path))


def test_windows_end_where_gaps_are_many_though_events_are_few(tmp_path):
    found = written(tmp_path, calls(2).table())
    assert len(list(found.windows())) == 1
    gaps = [(at, at + 3) for at in range(0, 400, 4)]
    ahead = of_thread("generator", *gaps)

    taken = [ahead.take(window.end_ns) for window in found.windows([ahead])]

    most = recorded.WINDOW // 4
    assert max(map(len, taken)) <= most + 1
    assert [start // MS for one in taken for start in one.start_ns.tolist()] == [a for a, _ in gaps]


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
