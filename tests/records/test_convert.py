import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_run import EPOCH_TSC, TSC_HZ, MadeTrial, make_packets, make_raw_trial, write_raw
from made_stamps import stamps_at
from taut.core.errors import InputError
from taut.records import convert
from taut.records.layout import CLOCK_POINT, GAP, PACKET, VERSION, PacketFlag, RecordKind


def _convert_packets(tmp_path: Path, packets: np.ndarray, **header: object) -> list[dict]:
    write_raw(tmp_path / "packets.bin", RecordKind.PACKET, packets, **header)
    convert.convert_trial(tmp_path, tmp_path)
    return pq.read_table(tmp_path / "packets.parquet").to_pylist()


def _packet(**fields: int) -> np.ndarray:
    packet = np.zeros(1, PACKET)
    for name, value in fields.items():
        packet[name] = value
    return packet


def test_times_are_nanoseconds_from_the_epoch(tmp_path: Path) -> None:
    packet = _packet(
        seq=3,
        direction=1,
        flow=2,
        frame_len=64,
        due_tsc=EPOCH_TSC + 2_500,
        sent_tsc=EPOCH_TSC + 2_501,
        received_tsc=EPOCH_TSC + 5_000,
        arrival_window=100,
    )

    rows = _convert_packets(tmp_path, packet)

    assert rows == [
        {
            "seq": 3,
            "direction": 1,
            "flow": 2,
            "frame_len": 64,
            "flags": 0,
            "due_ns": 1000,
            "sent_ns": 1000,  # 1000.4
            "received_ns": 2000,
            "arrival_window_ns": 40,
        }
    ]


def test_the_fit_from_first_to_last_counts_not_the_nominal_rate(tmp_path: Path) -> None:
    last = np.array((EPOCH_TSC + 9 * TSC_HZ, 11 * 10**9 + 10_000, 50), CLOCK_POINT)

    (row,) = _convert_packets(tmp_path, _packet(due_tsc=EPOCH_TSC + 5 * TSC_HZ), last=last)

    assert row["due_ns"] == 5_000_005_000


def test_a_packet_never_sent_or_received_has_no_time(tmp_path: Path) -> None:
    (row,) = _convert_packets(
        tmp_path, _packet(due_tsc=EPOCH_TSC + 1, flags=PacketFlag.UNSENT.value)
    )

    assert row["sent_ns"] is None
    assert row["received_ns"] is None
    assert row["flags"] == PacketFlag.UNSENT


def test_a_time_before_the_epoch_is_negative(tmp_path: Path) -> None:
    (row,) = _convert_packets(tmp_path, _packet(due_tsc=EPOCH_TSC - 2_500))

    assert row["due_ns"] == -1000


def test_a_file_whose_writer_died_is_read_by_its_size(tmp_path: Path) -> None:
    packets = make_packets(MadeTrial(n_packets=2_000))

    rows = _convert_packets(tmp_path, packets, n_records=0, last=np.zeros((), CLOCK_POINT))

    assert len(rows) == len(packets)


def test_half_a_record_at_the_end_of_a_died_writers_file_is_left_out(tmp_path: Path) -> None:
    write_raw(tmp_path / "packets.bin", RecordKind.PACKET, _packet(seq=1), n_records=0)
    with (tmp_path / "packets.bin").open("ab") as file:
        file.write(bytes(17))

    convert.convert_trial(tmp_path, tmp_path)

    assert pq.read_table(tmp_path / "packets.parquet").num_rows == 1


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"magic": b"SOMETHIN"}, "no record file of taut"),
        ({"version": 9}, f"record version 9, this taut reads {VERSION}"),
        ({"record_size": 24}, "wanted 1 .packet."),
        ({"n_records": 5}, "1 records of 5; the file is cut short"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, header: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=rf"packets\.bin: .*{words}"):
        _convert_packets(tmp_path, _packet(), **header)


def test_a_file_without_header_is_named(tmp_path: Path) -> None:
    (tmp_path / "packets.bin").write_bytes(b"TAUTREC\0")

    with pytest.raises(InputError, match=r"packets\.bin: 8 bytes are no header"):
        convert.convert_trial(tmp_path, tmp_path)


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no record files"):
        convert.convert_trial(tmp_path, tmp_path)


@pytest.mark.parametrize(("name", "thread"), [(None, "forwarder"), ("hop 2", "hop 2")])
def test_gaps_of_the_device_join_the_generators(
    tmp_path: Path, name: str | None, thread: str
) -> None:
    make_raw_trial(tmp_path)
    gap = np.zeros(1, GAP)
    gap["start_tsc"], gap["end_tsc"], gap["thread"] = EPOCH_TSC + 2_500, EPOCH_TSC + 5_000, 1
    # The device's file has an epoch of its own; the generator's counts.
    device = tmp_path / "gaps-forwarder.bin"
    write_raw(device, RecordKind.GAP, gap, epoch_tsc=1, thread=b"forwarder")

    convert.convert_trial(tmp_path, tmp_path, [convert.GapLog(device, name)])

    rows = pq.read_table(tmp_path / "gaps.parquet").to_pylist()
    assert [row["thread"] for row in rows] == ["generator", thread]
    assert (rows[1]["start_ns"], rows[1]["end_ns"]) == (1000, 2000)


def test_histograms_count_what_packets_say(tmp_path: Path) -> None:
    counters = make_raw_trial(tmp_path)["counters"]

    convert.convert_trial(tmp_path, tmp_path)

    rows = pq.read_table(tmp_path / "histogram.parquet").to_pylist()
    n_service = sum(row["n"] for row in rows if row["series"] == "service")
    assert n_service == counters["matched"]
    assert {row["width_ns"] for row in rows} == {1}


def test_a_wide_bucket_keeps_its_width(tmp_path: Path) -> None:
    from taut.records.layout import HISTOGRAM

    bucket = np.zeros(1, HISTOGRAM)
    bucket["value_ticks"], bucket["width_ticks"], bucket["count"] = 262_144, 16, 9
    write_raw(tmp_path / "histograms.bin", RecordKind.HISTOGRAM, bucket)

    convert.convert_trial(tmp_path, tmp_path)

    (row,) = pq.read_table(tmp_path / "histogram.parquet").to_pylist()
    assert (row["value_ns"], row["width_ns"], row["n"]) == (104_858, 6, 9)


@pytest.mark.parametrize(
    ("name", "kind", "dtype"),
    [("packets.bin", RecordKind.PACKET, PACKET), ("gaps.bin", RecordKind.GAP, GAP)],
)
def test_memory_does_not_grow_with_the_run(
    tmp_path: Path, name: str, kind: RecordKind, dtype: np.dtype[np.void]
) -> None:
    def peak_bytes(n_records: int) -> int:
        folder = tmp_path / str(n_records)
        folder.mkdir()
        write_raw(folder / name, kind, np.zeros(n_records, dtype))
        tracemalloc.start()
        convert.convert_trial(folder, folder)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    n_chunk = convert_chunk()

    assert peak_bytes(6 * n_chunk) < 1.2 * peak_bytes(2 * n_chunk)


def convert_chunk() -> int:
    from taut.records.raw_file import CHUNK_RECORDS

    return CHUNK_RECORDS


def test_stamps_have_the_clock_and_the_run_of_the_packets(tmp_path: Path) -> None:
    packets = _packet(seq=3, direction=1, sent_tsc=EPOCH_TSC + 2_500)
    foreign = stamps_at(packets, 1, 2)
    foreign["run_id"] += 1
    write_raw(tmp_path / "packets.bin", RecordKind.PACKET, packets)
    stamps = np.concatenate([foreign, stamps_at(packets, 1_000, 1_500, window_ns=40)])

    # The hop counted from another moment.
    write_raw(tmp_path / "stamps.bin", RecordKind.STAMP, stamps, epoch_tsc=1)
    logs = [convert.StampLog(tmp_path / "stamps.bin", "hop 2")]
    convert.convert_stamps(tmp_path, tmp_path, logs)

    common = {"element": "hop 2", "seq": 3, "direction": 1}
    assert pq.read_table(tmp_path / "stamps.parquet").to_pylist() == [
        {**common, "event": "received", "time_ns": 2_000, "window_ns": 40},
        {**common, "event": "sent", "time_ns": 2_500, "window_ns": 0},
    ]


def test_where_nothing_stamped_there_are_no_stamps(tmp_path: Path) -> None:
    write_raw(tmp_path / "packets.bin", RecordKind.PACKET, _packet(seq=3))

    convert.convert_stamps(tmp_path, tmp_path, [])

    assert not (tmp_path / "stamps.parquet").exists()


def test_the_last_log_of_a_devices_gaps_says_when_it_begins(tmp_path: Path) -> None:
    make_raw_trial(tmp_path)
    logs = [convert.GapLog(tmp_path / f"gaps-{n}.bin", f"hop {n}") for n in (1, 2)]
    for log, since in zip(logs, (5_000, 2_500), strict=True):
        first = np.array((EPOCH_TSC + since, 1, 50), CLOCK_POINT)
        write_raw(log.path, RecordKind.GAP, np.zeros(0, GAP), first=first)

    assert convert.begins_ns(tmp_path, logs) == 2_000
    assert convert.begins_ns(tmp_path, logs[1:]) == 1_000
    assert convert.begins_ns(tmp_path, [convert.GapLog(tmp_path / "none.bin")]) is None
