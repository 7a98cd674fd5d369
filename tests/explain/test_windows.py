"""A trial is read in windows: what they are changes nothing, and memory does not follow length."""

import gc
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_packets import HARD
from made_run import VARIANTS, MadeTrial, MadeVariant, make_run
from made_trace import (
    CORE,
    FLUSH,
    HOG,
    POLLER,
    PREEMPTED,
    TIMER,
    MadeTrace,
    held,
    normal,
    paused,
    write_trial,
)
from taut.explain import Options, as_document, explain_trial, write_perfetto
from taut.explain.read import events, gaps, packets, passages, recorded
from taut.explain.walk import parts, timeline
from taut.records.convert import EVENT_SCHEMA, GAP_SCHEMA
from taut.records.documents.json_form import plain

MS = 1_000_000


def read_in_windows_of(monkeypatch, n):
    for module in (events, gaps, packets, passages):
        monkeypatch.setattr(module, "_BATCH", n)
    monkeypatch.setattr(timeline, "_CHUNK", n)
    monkeypatch.setattr(recorded, "_BATCH", n)
    monkeypatch.setattr(recorded, "WINDOW", n)
    monkeypatch.setattr(parts, "_IN_MEMORY", 1)


def everything(trial, over):
    found, all_told = (
        explain_trial(trial, Options(over=over, every_gap=every)) for every in (False, True)
    )
    drawn = trial / "drawn.pftrace"
    write_perfetto(found, drawn)
    told = found.packets.drop("gap"), found.episodes, drawn.read_bytes()
    return plain(as_document(found)), told, all_told.packets, all_told.gaps


def disturbed(tmp_path):
    """Stalls of the device and of the generator, losses, and packets out of order."""
    rng = np.random.default_rng(3)
    rows, trace, logged = normal(5_000), MadeTrace(), []
    for start in range(2 * MS, 48 * MS, 2 * MS):
        end = start + int(rng.integers(20_000, 900_000))
        if start % (6 * MS):
            rows = held(rows, start, end)
            logged.append((start, end, "forwarder"))
            trace.switch(start + 100, POLLER, HOG, PREEMPTED).switch(end - 100, HOG, POLLER)
            trace.call(end + 300, end + 2_300, FLUSH, sent_at=end + 100)
            logged.append((end + 200, end + 2_500, "forwarder"))
        else:
            rows = paused(rows, start, end)
            logged.append((start, end, "generator"))
    for row in rows[::101]:
        row["received_ns"] = None
    rows[1_000], rows[1_001], rows[3_000], rows[2_990] = (
        rows[1_001],
        rows[1_000],
        rows[2_990],
        rows[3_000],
    )
    return write_trial(tmp_path, rows, logged, trace)


def misleading(tmp_path):
    """The thread that is met in the first gaps is another than the one that is met in most."""
    rows, logged, trace = normal(5_000), [], MadeTrace()
    for start in range(MS, 48 * MS, MS // 4):
        end = start + 20_000 + start // 1_000
        rows = held(rows, start, end)
        thread = HOG if start < 10 * MS else POLLER
        trace.vector(start + 500, start + 2_500, thread=thread)
        trace.switch(start + 3_000, thread, 0, PREEMPTED).switch(end - 1_000, 0, thread)
        logged.append((start, end, "forwarder"))
    return write_trial(tmp_path, rows, logged, trace)


def made_with_hard_rows(tmp_path):
    return write_trial(tmp_path, HARD, [(3_000_000, 3_090_000, "forwarder")], MadeTrace())


@pytest.mark.parametrize("make", [disturbed, misleading, made_with_hard_rows])
@pytest.mark.parametrize("over", ["p50", "p99", "9us"])
@pytest.mark.parametrize("n", [97, 1_000])
def test_windows_say_together_what_one_would(tmp_path, monkeypatch, make, over, n):
    trial = make(tmp_path)
    whole = everything(trial, over)
    assert whole[0]["tail_packets"] > 0

    read_in_windows_of(monkeypatch, n)
    packets_file = trial / "packets.parquet"
    pq.write_table(pq.read_table(packets_file), packets_file, row_group_size=500)

    assert everything(trial, over) == whole


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_of_made_runs_too(tmp_path, monkeypatch, variant):
    [trial] = (make_run(tmp_path, (variant,), repetitions=1) / "trials").iterdir()
    whole = everything(trial, "p99.9")

    read_in_windows_of(monkeypatch, 5_000)

    assert everything(trial, "p99.9") == whole


def test_ten_times_the_packets_take_the_same_memory(tmp_path, monkeypatch):
    read_in_windows_of(monkeypatch, 1 << 12)
    n = 20_000
    short, long = (_peak_bytes(tmp_path / str(times), times * n) for times in (1, 10))

    # An array of one value a packet has four bytes or more for each; the tail is 1 in 1,000.
    assert long - short < 9 * n


def _peak_bytes(folder, n_packets):
    made = MadeTrial(n_packets, device_stall=None, generator_gap=None, n_lost=0)
    run = make_run(folder, (MadeVariant("eager", "taut_forward", made),), repetitions=1)
    [trial] = (run / "trials").iterdir()
    return _peak_of(trial)


def _peak_of(trial):
    """Give the most memory that explaining takes, what only the collector would free included."""
    explain_trial(trial)
    gc.disable()
    tracemalloc.start()
    try:
        explain_trial(trial)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()


def test_four_times_the_events_take_the_same_memory(tmp_path, monkeypatch):
    read_in_windows_of(monkeypatch, 1 << 14)
    n = 200_000
    short, long = (_peak_of_events(tmp_path / str(times), times * n) for times in (1, 4))

    # An event has 31 bytes.
    assert long - short < 10 * 3 * n


def _peak_of_events(folder, n_events):
    """A tick of two events each two microseconds, and ten gaps."""
    length = 1_000 * n_events
    gaps = [(at, at + 10_000, "forwarder") for at in range(MS, length, length // 10)]
    trial = write_trial(folder, normal(1_000), gaps, MadeTrace())
    at = np.arange(n_events)
    table = pa.table(
        [
            at * 1_000,
            np.full(n_events, POLLER, np.uint32),
            np.full(n_events, CORE, np.uint16),
            pa.array(["vector_entry", "vector_exit"]).take(pa.array(at % 2)),
            np.full(n_events, TIMER, np.uint64),
            np.full(n_events, 0xEC, np.uint64),
        ],
        schema=EVENT_SCHEMA,
    )
    pq.write_table(table, trial / "events.parquet")
    return _peak_of(trial)


def test_eight_times_the_gaps_take_the_same_memory(tmp_path, monkeypatch):
    read_in_windows_of(monkeypatch, 1 << 14)
    n = 25_000
    short, long = (_peak_of_gaps(tmp_path / str(times), times * n) for times in (1, 8))

    # A gap has 16 bytes for its bounds alone.
    assert long - short < 3 * 7 * n


def _peak_of_gaps(folder, n):
    """Gaps without events, of all lengths, long after the last packet."""
    start = 100 * MS + 20_000 * np.arange(n)
    trial = write_trial(folder, normal(1_000))
    columns = start, start + 1_000 + start % 9_973, ["forwarder"] * n, np.zeros(n, np.uint32)
    pq.write_table(pa.table(columns, schema=GAP_SCHEMA), trial / "gaps.parquet")
    return _peak_of(trial)
