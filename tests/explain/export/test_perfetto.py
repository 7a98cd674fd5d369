import shutil
from collections import Counter

import pytest

from made_packets import DUPLICATE, extra
from made_trace import (
    CORE,
    FLUSH,
    HOG,
    POLLER,
    MadeTrace,
    held,
    normal,
    notes,
    write_trial,
)
from taut.explain import Options, explain_events, explain_trial, write_perfetto

MS = 1_000_000


@pytest.fixture
def explained(tmp_path):
    """Two shootdowns, 10 ms apart."""
    rows, trace, gaps = normal(3_000), MadeTrace(), []
    for start in (10 * MS, 20 * MS):
        end = start + 60_000
        rows = held(rows, start, end)
        trace.call(start + 1_000, end - 2_000, FLUSH, sent_at=start).vector(start - 900, start - 50)
        gaps += [(start - 950, start - 40, "forwarder"), (start, end, "forwarder")]
    trial = write_trial(tmp_path, rows, gaps, trace)
    return explain_trial(trial, Options(over="20us"))


@pytest.fixture
def early_gap(tmp_path):
    """A shootdown, and a gap of the generator that begins long before its first packet."""
    trace = MadeTrace().call(31_000, 93_000, FLUSH, sent_at=30_000)
    gaps = [(-3 * MS, -20_000, "generator"), (30_000, 95_000, "forwarder")]
    trial = write_trial(tmp_path, held(normal(3_000), 30_000, 95_000), gaps, trace)
    return explain_trial(trial, Options(over="20us"))


def fields(message):
    """Take a protobuf message apart: number and value of each field."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, message[at : at + size]
            at += size


def read(path):
    """Tracks by number, and events: time, type, track, name."""
    tracks, events, _ = read_all(path)
    return tracks, events


def read_all(path):
    """The same, and what is noted with each event."""
    tracks, events, noted = {}, [], []
    for number, packet in fields(path.read_bytes()):
        assert number == 1
        body = dict(fields(packet))
        if 60 in body:
            descriptor = dict(fields(body[60]))
            tracks[descriptor[1]] = (descriptor[2].decode(), descriptor.get(5))
        else:
            event = dict(fields(body[11]))
            events.append((body[8], event[9], event[11], event.get(23, b"").decode()))
            notes = [dict(fields(value)) for key, value in fields(body[11]) if key == 4]
            noted.append([(n[10].decode(), n[4] if 4 in n else n[6].decode()) for n in notes])
    return tracks, events, noted


def read_by_package(path, message):
    """What read_all gives, from the message classes of Perfetto's own package."""
    trace, tracks, events, noted = message(), {}, [], []
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            of = packet.track_descriptor
            parent = of.parent_uuid if of.HasField("parent_uuid") else None
            tracks[of.uuid] = (of.name, parent)
            continue
        event = packet.track_event
        events.append((packet.timestamp, event.type, event.track_uuid, event.name))
        noted.append(
            [
                (n.name, n.int_value if n.HasField("int_value") else n.string_value)
                for n in event.debug_annotations
            ]
        )
    return tracks, events, noted


def test_every_slice_that_begins_ends_and_none_of_a_track_overlap(explained, tmp_path):
    drawn = write_perfetto(explained, tmp_path / "x.perfetto")

    tracks, events = read(tmp_path / "x.perfetto")
    kinds = Counter(kind for _, kind, _, _ in events)
    assert kinds[1] == kinds[2] == drawn.n_packets + drawn.n_gaps + drawn.n_segments
    assert kinds[3] == drawn.n_events == 14
    assert kinds[1] + kinds[3] == drawn.n_slices
    for track in tracks:
        own = [(at, kind) for at, kind, of, _ in events if of == track and kind != 3]
        assert [kind for _, kind in own] == [1, 2] * (len(own) // 2)
        assert [at for at, _ in own] == sorted(at for at, _ in own)


def test_packets_gaps_and_events_of_the_episodes_are_there(explained, tmp_path):
    drawn = write_perfetto(explained, tmp_path / "x.perfetto", n_episodes=1)

    tracks, events = read(tmp_path / "x.perfetto")
    names = {name for name, _ in tracks.values()}
    assert {"packets of direction 0", "gaps of the forwarder on core 1", "cpu 0", "cpu 1"} <= names
    shown = [name for _, kind, _, name in events if kind in (1, 3)]
    assert "tlb-shootdown" in shown
    assert "call_queue flush_tlb_func" in shown
    assert sum("tlb-shootdown" in name and name.startswith("pkt") for name in shown) == 5
    # Those around it are drawn as well: 100 us before and after, 10 us apart.
    assert drawn.n_packets == pytest.approx(26, abs=2)


def test_a_packet_that_came_twice_is_drawn_once(tmp_path):
    start, end = 10 * MS, 10 * MS + 60_000
    trace = MadeTrace().call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
    rows, drawn = held(normal(3_000), start, end), []
    again = extra(1_000, DUPLICATE, start + 70_000) | {"sent_ns": rows[1_000]["sent_ns"]}
    for name, more in (("once", []), ("twice", [again])):
        gaps = [(start, end, "forwarder")]
        trial = write_trial(tmp_path / name, [*rows, *more], gaps, trace)
        found = explain_trial(trial, Options(over="20us"))
        drawn.append(write_perfetto(found, tmp_path / f"{name}.perfetto"))

    assert drawn[0].n_packets == drawn[1].n_packets > 0


def test_a_process_without_packets_has_its_stalls_drawn(tmp_path):
    trace = MadeTrace().vector(1_000, 2_000).switch(10_000, POLLER, HOG).switch(60_000, HOG, POLLER)
    found = explain_events(trace.events(), CORE, POLLER, notes())

    drawn = write_perfetto(found, tmp_path / "x.perfetto")

    assert (drawn.n_packets, drawn.n_gaps, drawn.n_segments, drawn.n_events) == (0, 2, 2, 4)


def test_a_gap_from_before_the_first_packet_keeps_its_length(early_gap, tmp_path):
    drawn = write_perfetto(early_gap, tmp_path / "x.perfetto")

    tracks, events = read(tmp_path / "x.perfetto")
    ends = [at for at, _, of, _ in events if tracks[of][0].startswith("gaps of the generator")]
    assert drawn.n_gaps == 2
    assert ends == [0, 3 * MS - 20_000]
    assert max(at for at, _, _, _ in events) < 4 * MS


def test_slices_are_as_many_as_the_explanation_counts(explained, tmp_path):
    write_perfetto(explained, tmp_path / "x.perfetto")

    tracks, events = read(tmp_path / "x.perfetto")
    begun = [(tracks[track][0], name) for _, kind, track, name in events if kind == 1]
    gaps = Counter(name for track, name in begun if track.startswith("gaps of the forwarder"))
    assert gaps == Counter(explained.gaps["cause"].to_pylist())
    late = Counter(name.split()[2] for track, name in begun if len(name.split()) == 3)
    assert late == Counter(explained.packets["cause"].to_pylist())


def test_the_package_of_perfetto_reads_the_same(explained, tmp_path):
    """Every track, slice, moment and note, by classes made from Perfetto's own .proto files."""
    protos = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="pip: perfetto"
    )

    drawn = write_perfetto(explained, tmp_path / "x.perfetto")

    tracks, events, noted = read_by_package(tmp_path / "x.perfetto", protos.Trace)
    assert sum(kind in (1, 3) for _, kind, _, _ in events) == drawn.n_slices
    assert (tracks, events, noted) == read_all(tmp_path / "x.perfetto")
    assert ("cause", "tlb-shootdown") in [note for notes in noted for note in notes]


@pytest.fixture
def query():
    """Open a file in Perfetto's own trace processor and ask it."""
    api = pytest.importorskip("perfetto.trace_processor", reason="pip: perfetto")
    binary = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if binary is None:
        pytest.skip("no trace_processor_shell in PATH; the pip package would download it")

    def ask(path, *questions):
        config = api.TraceProcessorConfig(bin_path=binary)
        with api.TraceProcessor(trace=str(path), config=config) as processor:
            return [[tuple(vars(row).values()) for row in processor.query(q)] for q in questions]

    return ask


OF_EACH_TRACK = """
    SELECT track.name, COUNT(*) FROM slice JOIN track ON slice.track_id = track.id GROUP BY 1
"""
ODD = "SELECT name, ts, dur, depth FROM slice WHERE ts < 0 OR dur < 0 OR depth > 0"
ERRORS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"


def test_the_trace_processor_of_perfetto_counts_the_same_slices(explained, tmp_path, query):
    drawn = write_perfetto(explained, tmp_path / "x.perfetto")

    counted, odd, errors = query(tmp_path / "x.perfetto", OF_EACH_TRACK, ODD, ERRORS)
    assert (odd, errors) == ([], [])
    assert sum(n for _, n in counted) == drawn.n_slices
    tracks, events = read(tmp_path / "x.perfetto")
    assert dict(counted) == Counter(tracks[of][0] for _, kind, of, _ in events if kind != 2)


def test_the_trace_processor_of_perfetto_takes_what_was_before_the_first_packet(
    early_gap, tmp_path, query
):
    drawn = write_perfetto(early_gap, tmp_path / "x.perfetto")

    counted, odd, errors = query(tmp_path / "x.perfetto", OF_EACH_TRACK, ODD, ERRORS)
    assert (odd, errors) == ([], [])
    assert sum(n for _, n in counted) == drawn.n_slices
