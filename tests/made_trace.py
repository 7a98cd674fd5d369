"""Kernel events and trials by hand, for tests of attribution: a polling thread on core 1."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from made_packets import VOID, packet, write_packets
from taut.explain.read.events import Events, TraceNotes, events_of, notes_of
from taut.records.convert import EVENT_SCHEMA, GAP_SCHEMA
from taut.records.documents.json_form import parse
from taut.records.documents.trace import TraceDocument

CORE, POLLER, OTHER_CORE = 1, 100, 0
TELEMETRY, HOG, KWORKER = 4711, 200, 30
TIMER, RESCHEDULE, CALL_FUNCTION = 0, 1, 2
FLUSH, IPI_MB, VMSTAT, TICK = 0xFF01, 0xFF02, 0xFF03, 0xFF04
CALLSITE, CALL_SINGLE = 0x8100_0123, 0xFFFF_FFFF_8100_0200
RUNNABLE, SLEEPS, STOPPED, PREEMPTED = 0, 1, 4, 0x100

TRACE_JSON = {
    "kernel": "6.18.5",
    "clock": "x86-tsc",
    "cores": [0, 1],
    "events": [],
    "missing": [],
    "threads": {"100": "poller", "4711": "telemetry", "200": "hog", "30": "kworker/1:0"},
    "functions": {
        str(FLUSH): "flush_tlb_func",
        str(IPI_MB): "ipi_mb",
        str(VMSTAT): "vmstat_update",
        str(TICK): "tick_nohz_handler",
    },
    "irqs": {"24": "virtio0-input.0"},
    "lost": [],
    "counters": {"before": {}, "after": {}},
    "armed_ns": -1_000_000,
    "stopped_ns": 10**12,
}


class MadeTrace:
    """Collects events; times in ns."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, str, int, int]] = []

    def add(self, t, kind, arg0=0, arg1=0, *, thread=POLLER, cpu=CORE):
        self.rows.append((t, thread, cpu, kind, arg0, arg1))
        return self

    def vector(self, start, end, vector=TIMER, **at):
        self.add(start, "vector_entry", vector, 0xEC, **at)
        return self.add(end, "vector_exit", vector, 0xEC, **at)

    def switch(self, t, previous, following, state=RUNNABLE, priority=120):
        """A switch is noted by the thread that leaves."""
        arg0, arg1 = previous | state << 32, following | (priority & 0xFFFFFFFF) << 32
        return self.add(t, "switch", arg0, arg1, thread=previous)

    def send(self, t, sender=TELEMETRY, target=CORE, callback=0, cpu=OTHER_CORE):
        """An interrupt is sent: for `callback`, or (0) a reschedule."""
        return self.add(
            t, "ipi_send_for", target | CALLSITE << 32, callback, thread=sender, cpu=cpu
        )

    def call(self, start, end, function, csd=0xC0DE, sent_at=None, sender=TELEMETRY):
        """A function-call interrupt, queued by another thread on another core."""
        if sent_at is not None:
            self.add(sent_at, "call_queue", csd, function, thread=sender, cpu=OTHER_CORE)
        self.add(start, "vector_entry", CALL_FUNCTION, 0xFB)
        self.add(start + 100, "call_entry", csd, function)
        self.add(end - 100, "call_exit", csd, function)
        return self.add(end, "vector_exit", CALL_FUNCTION, 0xFB)

    def table(self) -> pa.Table:
        columns = list(zip(*sorted(self.rows, key=lambda r: r[0]), strict=True)) or [[]] * 6
        arrays = [pa.array(c, f.type) for c, f in zip(columns, EVENT_SCHEMA, strict=True)]
        return pa.table(arrays, schema=EVENT_SCHEMA)

    def events(self) -> Events:
        table = self.table()
        return events_of(table.to_batches(), table.num_rows)


def notes(**changes) -> TraceNotes:
    return notes_of(parse(TraceDocument, TRACE_JSON | changes, "made trace"))


def write_trace(trial: Path, trace: MadeTrace, **changes) -> None:
    pq.write_table(trace.table(), trial / "events.parquet")
    (trial / "trace.json").write_text(json.dumps(TRACE_JSON | changes))


def gap_rows(*rows: tuple[int, int, str] | tuple[int, int, str, int]) -> pa.Table:
    """Gaps: start, end, thread and perhaps packets."""
    whole = [(*row, 0)[:4] for row in rows]
    columns = list(zip(*whole, strict=True)) or [[]] * 4
    return pa.table([pa.array(c) for c in columns], names=GAP_SCHEMA.names).cast(GAP_SCHEMA)


def write_trial(tmp_path, rows, gaps=(), trace=None, meta=None, **trace_json):
    trial = tmp_path / "trials" / "000"
    trial.mkdir(parents=True)
    write_packets(trial / "packets.parquet", rows)
    pq.write_table(gap_rows(*gaps), trial / "gaps.parquet")
    document = {
        "name": "000-eager",
        "cores": {"generator": OTHER_CORE, "device": CORE},
        "dut": {"driver": "taut_forward", "options": {}, "stats": {"gaps": {"per_packet_ns": 250}}},
        "generator": {"gaps": {"per_packet_ns": 250}},
    }
    (trial / "trial.json").write_text(json.dumps(document | (meta or {})))
    (tmp_path / "manifest.json").write_text(json.dumps({"host": {"hypervisor": "KVM"}}))
    if trace is not None:
        write_trace(trial, trace, **trace_json)
    return trial


def held(rows, start, end):
    """A device that stops from start to end hands over what came meanwhile right after."""
    late = end
    for row in rows:
        if row["sent_ns"] is not None and start < row["received_ns"] and row["sent_ns"] < end:
            late += 50
            row["received_ns"] = max(late, row["received_ns"])
    return rows


def paused(rows, start, end):
    """A generator that stops from start to end: it sends and receives afterwards what it missed."""
    sent = end
    for row in rows:
        if row["sent_ns"] is None:
            continue
        if start <= row["sent_ns"] < end or (end <= row["sent_ns"] <= sent):
            took = (row["received_ns"] or row["sent_ns"]) - row["sent_ns"]
            sent += 50
            row["sent_ns"], row["flags"] = sent, row["flags"] | VOID
            row["received_ns"] = None if row["received_ns"] is None else sent + took
        elif row["received_ns"] is not None and row["sent_ns"] < start < row["received_ns"] < end:
            row |= {"received_ns": end, "arrival_window_ns": end - start}
            row["flags"] |= VOID
    return rows


def normal(n, latency=1_000, **more):
    rng = np.random.default_rng(1)
    return [packet(s, latency + int(rng.integers(0, 200)), **more) for s in range(n)]


def stop(start, end):
    trace = MadeTrace().switch(start + 100, POLLER, 0, STOPPED)
    trace.add(end - 900, "wakeup", POLLER, CORE, thread=HOG, cpu=OTHER_CORE)
    return trace.switch(end - 100, 0, POLLER)
