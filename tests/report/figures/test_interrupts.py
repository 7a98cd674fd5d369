"""The figure of interrupts beside latency: of which trial, which core, and how many a second."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.analysis.interrupts import BIN_NS, HOST, INTERRUPTS, SCHEMA, read_interrupts
from taut.report.chart import as_spec
from taut.report.figures.interrupts import (
    MOST_BINS,
    MOST_NAMES,
    OTHERS,
    InterruptsBesideLatency,
    _panels,
    _rates,
)


@pytest.fixture
def drawn(scene, tmp_path):
    """Draw one device as if these had been counted of its slowest trial."""
    device = next(d for d in scene.devices if d.label == "eager")

    def draw(rows):
        runs = {}
        for trial in device.trials:
            folder = tmp_path / "trials" / trial.name
            folder.mkdir(parents=True)
            (folder / "worst.parquet").symlink_to(device.folder_of(trial) / "worst.parquet")
            table = pa.Table.from_pylist(rows, SCHEMA)
            pq.write_table(table, folder / INTERRUPTS)
            runs[trial.name] = tmp_path
        return replace(scene, devices=[replace(device, runs=runs)])

    return draw


def row(name, at=0, n=1, cpu=1, place=HOST):
    return {"place": place, "cpu": cpu, "name": name, "start_ns": at * BIN_NS, "n": n}


def test_only_what_was_traced_is_drawn_with_all_that_was_counted(scene):
    [panel] = _panels(scene)

    assert (panel.device.label, panel.core) == ("eager", 1)
    counted = read_interrupts(panel.device.folder_of(panel.device.slowest_trial)).to_pylist()
    width_s = BIN_NS / 1e9
    assert sum(mark["rate"] * width_s for mark in panel.counts) == sum(r["n"] for r in counted)
    assert {mark["name"] for mark in panel.counts} == {"local timer"}


def test_another_core_is_none_of_the_devices(drawn):
    assert InterruptsBesideLatency().draw(drawn([row("local timer", cpu=0)])) is None


def test_a_name_that_paused_is_drawn_at_zero():
    marks = _rates([row("timer", 0, 5), row("timer", 2, 7), row("irq", 1)])

    assert [m["rate"] for m in marks if m["name"] == "timer"] == [50, 0, 70, 0]


def test_long_trials_have_as_many_bins_as_can_be_seen():
    rows = [row("timer", at, 2) for at in range(5 * MOST_BINS)]

    marks = _rates(rows)

    assert len(marks) == MOST_BINS + 1
    assert {m["rate"] for m in marks[:-1]} == {20.0}


def test_places_are_named_where_there_are_several():
    rows = [row("timer"), row("timer", place="guest vm")]

    assert {m["name"] for m in _rates(rows)} == {"host: timer", "guest vm: timer"}


def test_rare_ones_are_drawn_together(drawn):
    rows = [row(f"irq {i}", n=100 - i) for i in range(MOST_NAMES + 3)]

    text = json.dumps(as_spec(InterruptsBesideLatency().draw(drawn(rows))))

    assert OTHERS in text
    assert f"irq {MOST_NAMES - 1}" in text
    assert f"irq {MOST_NAMES}," not in text
