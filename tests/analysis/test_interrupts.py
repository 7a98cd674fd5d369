"""Interrupts and softirqs of a traced trial, counted by core, name and bin of time."""

import pytest

from made_trace import CORE, OTHER_CORE, RESCHEDULE, MadeTrace, notes, write_trace
from taut.analysis.interrupts import (
    BIN_NS,
    HOST,
    SCHEMA,
    count_interrupts,
    interrupts_of,
    read_interrupts,
)
from taut.explain.read.names import Names
from taut.records.convert import GUEST
from taut.records.documents.trial import TraceOfTrial

NET_RX = 3
WHOLE = TraceOfTrial("continuous")


def made() -> MadeTrace:
    trace = MadeTrace()
    for at in (-1, 0, BIN_NS - 1, BIN_NS):
        trace.vector(at, at + 500)
    trace.add(10, "softirq_entry", NET_RX).add(20, "softirq_exit", NET_RX)
    trace.add(30, "irq_entry", 24, cpu=OTHER_CORE).add(40, "irq_exit", 24, cpu=OTHER_CORE)
    trace.add(50, "irq_entry", 25)
    trace.vector(60, 70, RESCHEDULE)
    return trace.switch(80, 100, 200)


EXPECTED = {
    (CORE, "local timer", -BIN_NS): 1,
    (CORE, "local timer", 0): 2,
    (CORE, "local timer", BIN_NS): 1,
    (CORE, "softirq NET_RX", 0): 1,
    (OTHER_CORE, "irq 24 virtio0-input.0", 0): 1,
    (CORE, "irq 25", 0): 1,
    (CORE, "reschedule", 0): 1,
}


def counted(table):
    assert {row["place"] for row in table.to_pylist()} == {HOST}
    return {(r["cpu"], r["name"], r["start_ns"]): r["n"] for r in table.to_pylist()}


def test_what_begins_is_counted_once_by_core_name_and_time():
    assert counted(interrupts_of([made().events()], Names(notes()))) == EXPECTED


def test_parts_of_a_trace_add_up():
    events = made().events()
    parts = [events.take(slice(i, i + 3)) for i in range(0, len(events), 3)]

    assert counted(interrupts_of(parts, Names(notes()))) == EXPECTED


def test_a_guest_counts_its_own_beside_the_host(tmp_path):
    write_trace(tmp_path, made())
    (tmp_path / GUEST).mkdir()
    write_trace(tmp_path / GUEST, MadeTrace().vector(5, 9).vector(15, 19))

    rows = count_interrupts(tmp_path, WHOLE).to_pylist()

    assert sum(row["n"] for row in rows if row["place"] == HOST) == sum(EXPECTED.values())
    assert [row for row in rows if row["place"] != HOST] == [
        {"place": GUEST, "cpu": CORE, "name": "local timer", "start_ns": 0, "n": 2}
    ]


def test_a_trace_without_any_is_an_empty_table():
    table = interrupts_of([MadeTrace().switch(1, 2, 3).events()], Names(notes()))

    assert (table.num_rows, table.schema) == (0, SCHEMA)


@pytest.mark.parametrize("trace", [None, TraceOfTrial("off"), TraceOfTrial("tail")])
def test_a_trace_of_parts_is_not_counted(tmp_path, trace):
    write_trace(tmp_path, made())

    assert count_interrupts(tmp_path, WHOLE) is not None
    assert count_interrupts(tmp_path, trace) is None


def test_a_trial_without_events_has_none(tmp_path):
    assert count_interrupts(tmp_path, WHOLE) is None
    assert read_interrupts(tmp_path) is None
