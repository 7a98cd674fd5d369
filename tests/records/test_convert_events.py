import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_run import EPOCH_TSC, make_raw_trial, write_raw
from taut.core.errors import InputError
from taut.records import convert
from taut.records.layout import EVENT, EVENT_KINDS, RecordKind


def _events(*rows: tuple[int, int, int, str, int, int]) -> np.ndarray:
    events = np.zeros(len(rows), EVENT)
    for event, (tsc, thread, cpu, kind, arg0, arg1) in zip(events, rows, strict=True):
        event["tsc"], event["thread"], event["cpu"] = tsc, thread, cpu
        event["kind"], event["args"] = EVENT_KINDS.index(kind), (arg0, arg1)
    return events


def test_events_are_on_the_generators_clock_whatever_their_own_epoch(tmp_path: Path) -> None:
    make_raw_trial(tmp_path)
    address = 0xFFFFFFFF_81000000
    rows = _events(
        (EPOCH_TSC - 2_500, 7, 1, "irq_entry", 24, 0),
        (EPOCH_TSC + 5_000, 0, 3, "timer_entry", address, 9),
    )
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows, epoch_tsc=1)

    convert.convert_events(tmp_path, tmp_path)

    assert pq.read_table(tmp_path / "events.parquet").to_pylist() == [
        {"time_ns": -1000, "thread": 7, "cpu": 1, "kind": "irq_entry", "arg0": 24, "arg1": 0},
        {
            "time_ns": 2000,
            "thread": 0,
            "cpu": 3,
            "kind": "timer_entry",
            "arg0": address,
            "arg1": 9,
        },
    ]


def test_events_alone_count_from_their_own_epoch(tmp_path: Path) -> None:
    rows = _events((EPOCH_TSC + 2_500, 7, 1, "switch", 7 | 1 << 32, 8))
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows)

    convert.convert_events(tmp_path, tmp_path)

    (row,) = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert (row["time_ns"], row["arg0"]) == (1000, 7 | 1 << 32)


def test_the_end_of_a_hole_is_a_time(tmp_path: Path) -> None:
    rows = _events(
        (EPOCH_TSC - 5_000, 0, 1, "lost", 3, EPOCH_TSC - 2_500),
        (EPOCH_TSC + 2_500, 0, 1, "lost", 385_000, EPOCH_TSC + 5_000),
    )
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows)

    convert.convert_events(tmp_path, tmp_path)

    before, after = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert (before["time_ns"], before["arg1"]) == (-2000, 0)
    assert (after["time_ns"], after["arg0"], after["arg1"]) == (1000, 385_000, 2000)


def test_the_end_of_what_was_not_kept_is_a_time_too(tmp_path: Path) -> None:
    rows = _events((EPOCH_TSC + 2_500, 0, 0, "skipped", 7, EPOCH_TSC + 5_000))
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows)

    convert.convert_events(tmp_path, tmp_path)

    [row] = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert (row["kind"], row["time_ns"], row["arg0"], row["arg1"]) == ("skipped", 1000, 7, 2000)


@pytest.mark.parametrize("is_same", [False, True])
def test_the_traced_time_is_on_the_generators_clock(tmp_path: Path, is_same: bool) -> None:
    raw = tmp_path / "raw"
    trial = raw if is_same else tmp_path
    make_raw_trial(raw)
    write_raw(raw / "events.bin", RecordKind.EVENT, _events(), epoch_tsc=1)
    ticks = {"armed_tsc": EPOCH_TSC - 2_500, "stopped_tsc": EPOCH_TSC + 25_000_000_001}
    (raw / "trace.json").write_text(json.dumps({"mode": "tail"} | ticks))

    convert.convert_events(raw, trial)

    found = json.loads((trial / "trace.json").read_text())
    assert found == {"mode": "tail", "armed_ns": -1000, "stopped_ns": 10_000_000_000} | ticks


def test_every_kind_has_its_name(tmp_path: Path) -> None:
    kinds = EVENT_KINDS[1:]
    rows = _events(*((EPOCH_TSC, 0, 0, kind, 0, EPOCH_TSC) for kind in kinds if kind))
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows)

    convert.convert_events(tmp_path, tmp_path)

    table = pq.read_table(tmp_path / "events.parquet")
    assert table.column("kind").to_pylist() == list(kinds)


def test_what_was_recorded_is_copied_beside_it(tmp_path: Path) -> None:
    raw, trial = tmp_path / "raw", tmp_path / "trial"
    raw.mkdir()
    trial.mkdir()
    write_raw(raw / "events.bin", RecordKind.EVENT, _events())
    (raw / "trace.json").write_text(json.dumps({"clock": "x86-tsc"}))

    convert.convert_events(raw, trial)

    assert json.loads((trial / "trace.json").read_text()) == {"clock": "x86-tsc"}
    assert pq.read_table(trial / "events.parquet").num_rows == 0


def test_a_run_that_was_not_traced_has_no_events(tmp_path: Path) -> None:
    make_raw_trial(tmp_path)

    convert.convert_events(tmp_path, tmp_path)

    assert not (tmp_path / "events.parquet").exists()


@pytest.mark.parametrize("kind", [0, len(EVENT_KINDS)])
def test_an_unknown_kind_is_named(tmp_path: Path, kind: int) -> None:
    rows = np.zeros(1, EVENT)
    rows["kind"] = kind
    write_raw(tmp_path / "events.bin", RecordKind.EVENT, rows)

    with pytest.raises(InputError, match=rf"events\.bin: kind {kind} is not known"):
        convert.convert_events(tmp_path, tmp_path)
