"""Frame heads are joined with the packets that were matched, by position."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_content import Stream
from made_run import write_raw
from taut.analysis.content import read_heads, search_capture
from taut.core.errors import InputError
from taut.records.convert import PACKET_SCHEMA
from taut.records.layout import FRAME, PacketFlag, RecordKind

N = 5000
N_HEAD = 64
HEAD_RECORD = np.dtype([*FRAME.descr, ("bytes", "u1", (N_HEAD,))])


def write_heads(folder, stream, positions):
    records = np.zeros(len(positions), HEAD_RECORD)
    records["pos"], records["wire_len"], records["n_bytes"] = positions, 100, N_HEAD
    records["bytes"] = stream.rows[positions, :N_HEAD]
    write_raw(folder / "ingress_heads.bin", RecordKind.FRAME, records)


def write_packets(path, stream, *, lost=(), cold=(), shuffled=False):
    sent = stream.time_ns
    seq = np.arange(stream.n)
    flags = np.zeros(stream.n, np.uint16)
    flags[list(cold)] = PacketFlag.COLD
    is_lost = np.isin(seq, lost)
    order = np.random.default_rng(1).permutation(stream.n) if shuffled else seq
    columns = {
        "seq": seq[order],
        "direction": np.zeros(stream.n, np.uint8),
        "flow": np.zeros(stream.n, np.uint32),
        "frame_len": np.full(stream.n, 104, np.uint16),
        "flags": flags[order],
        "due_ns": pa.nulls(stream.n, pa.int64()),
        "sent_ns": sent[order],
        "received_ns": pa.array((sent + stream.latency_ns)[order], mask=is_lost[order]),
        "arrival_window_ns": np.zeros(stream.n, np.int64),
    }
    rows = pa.table(columns).cast(PACKET_SCHEMA)
    # A duplicate and an orphan: received, but not sent.
    extra = rows.slice(0, 2).set_column(6, "sent_ns", pa.nulls(2, pa.int64()))
    pq.write_table(pa.concat_tables([rows, extra.cast(PACKET_SCHEMA)]), path)


@pytest.mark.parametrize("shuffled", [False, True])
def test_matched_packets_that_are_not_cold_get_their_heads(tmp_path, shuffled):
    stream = Stream(N)
    write_heads(tmp_path, stream, np.arange(N))
    path = tmp_path / "packets.parquet"
    write_packets(path, stream, lost=[7, 4000], cold=range(5), shuffled=shuffled)

    frames = read_heads(tmp_path, path)

    kept = np.setdiff1d(np.arange(5, N), [7, 4000])
    assert np.array_equal(frames.position, kept)
    assert np.array_equal(frames.time_ns, stream.time_ns[kept])
    assert np.array_equal(frames.latency_ns, stream.latency_ns[kept])
    assert np.array_equal(frames.heads.columns, stream.rows[kept, :N_HEAD].T)
    assert set(frames.heads.n_bytes) == {N_HEAD}
    assert set(frames.heads.wire_len) == {100}


def test_a_class_is_found_from_the_files(tmp_path):
    stream = Stream(N)
    packets = stream.pick(40)
    stream.write(packets, 15, b"\x04")
    stream.delay(packets, 5000)
    write_heads(tmp_path, stream, np.arange(N))
    lost = int(packets[3])
    write_packets(tmp_path / "packets.parquet", stream, lost=[lost])

    (only,) = search_capture(tmp_path, tmp_path / "packets.parquet").classes

    assert (only.field, only.value) == ("ipv4 tos", "0x04")
    assert [p.position for p in only.packets] == [p for p in packets.tolist() if p != lost]


def test_too_many_packets_are_counted_not_read(tmp_path):
    stream = Stream(N)
    write_packets(tmp_path / "packets.parquet", stream, lost=[1])

    result = search_capture(tmp_path, tmp_path / "packets.parquet", max_packets=1000)

    assert result.n_packets == N - 1
    assert result.not_searched == "4999 packets are more than the 1000 that are searched"


def test_a_missing_head_is_said(tmp_path):
    stream = Stream(N)
    write_heads(tmp_path, stream, np.setdiff1d(np.arange(N), [2999, 3000]))
    write_packets(tmp_path / "packets.parquet", stream)

    with pytest.raises(InputError, match=r"no head of matched packet 2999 \(2 missing\)"):
        read_heads(tmp_path, tmp_path / "packets.parquet")


def test_frames_without_bytes_are_refused(tmp_path):
    write_raw(tmp_path / "ingress_heads.bin", RecordKind.FRAME, np.zeros(N, FRAME))
    write_packets(tmp_path / "packets.parquet", Stream(N))

    with pytest.raises(InputError, match="without bytes"):
        read_heads(tmp_path, tmp_path / "packets.parquet")


def test_packets_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"packets\.parquet"):
        read_heads(tmp_path, tmp_path / "packets.parquet")
