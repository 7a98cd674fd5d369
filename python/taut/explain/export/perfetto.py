"""Chosen episodes as a Perfetto trace: packets, gaps and kernel events on one timeline.

Opens in ui.perfetto.dev and in Perfetto's trace processor.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.core.files import whole
from taut.explain.causes import CAUSES
from taut.explain.export.perfetto_format import PerfettoWriter
from taut.explain.judge.told import MARGIN_NS
from taut.explain.judge.verdicts import LETTERS, GapVerdicts
from taut.explain.read.ahead import rows_together
from taut.explain.read.events import LOW
from taut.explain.read.names import Names, softirq_name, vector_name
from taut.explain.read.recorded import Recorded
from taut.explain.read.spans import Stretches, merged, overlaps
from taut.explain.tell.gaps import shares_of
from taut.explain.tell.result import Explanation
from taut.records import parquet
from taut.records.layout import EVENT_KINDS, EXTRA_RECORD
from taut.records.tables import PACKETS


@dataclass(frozen=True)
class Drawn:
    """How much was written; Perfetto's `slice` table holds slices and instants."""

    n_packets: int
    n_gaps: int
    n_segments: int
    n_events: int

    @property
    def n_slices(self) -> int:
        """Rows of Perfetto's `slice` table."""
        return self.n_packets + self.n_gaps + self.n_segments + self.n_events


def write_perfetto(explanation: Explanation, path: Path, n_episodes: int = 10) -> Drawn:
    """Write the worst episodes (or, without packets, the worst stalls): whole file or none."""
    windows = _windows(explanation, n_episodes)
    with whole(path) as temporary, temporary.open("wb") as file:
        return _draw(file, explanation, windows)


def _draw(file: BinaryIO, explanation: Explanation, windows: Stretches) -> Drawn:
    source, verdicts, packets = explanation.source, explanation.packets, None
    if source.trial is not None and verdicts is not None:
        packets = _packets_inside(source.trial / PACKETS, windows)
    writer = PerfettoWriter(file, _base_ns(windows, packets, source.verdicts))
    root = writer.track(f"taut: {explanation.name}")
    n_packets = 0
    if packets is not None and verdicts is not None:
        n_packets = _draw_packets(writer, root, packets, verdicts)
    n_gaps = sum(_draw_gaps(writer, root, judged, windows) for judged in source.verdicts)
    n_segments = sum(_draw_segments(writer, root, judged, windows) for judged in source.verdicts)
    n_events = _draw_events(writer, root, source.events, Names(source.notes), windows)
    return Drawn(n_packets, n_gaps, n_segments, n_events)


def _base_ns(windows: Stretches, packets: pa.Table | None, verdicts: Iterable[GapVerdicts]) -> int:
    """Find the zero of Perfetto's time, before the first gap: negative times are not drawn."""
    all_spans = [judged.spans for judged in verdicts]
    starts = [s.start_ns[overlaps(s.start_ns, s.end_ns, *windows)] for s in all_spans]
    if packets is not None:
        starts.append(packets["sent_ns"].to_numpy())
    return min(int(times.min(initial=0)) for times in (windows[0], *starts))


def _windows(explanation: Explanation, n: int) -> Stretches:
    """Give the windows around the n worst episodes; windows that overlap are joined."""
    chosen: Iterable[tuple[int, int]]
    if explanation.packets is not None:
        chosen = [
            (
                min([e.start_ns] + ([e.gap.start_ns] if e.gap is not None else [])),
                max([e.end_ns] + ([e.gap.end_ns] if e.gap is not None else [])),
            )
            for e in explanation.worst[:n]
        ]
    else:
        chosen = [(gap.start_ns, gap.end_ns) for gap in explanation.worst_gaps[:n]]
    bounds = np.array(sorted(chosen), np.int64).reshape(-1, 2)
    return merged(bounds[:, 0] - MARGIN_NS, bounds[:, 1] + MARGIN_NS)


def _draw_packets(writer: PerfettoWriter, root: int, rows: pa.Table, verdicts: pa.Table) -> int:
    """Draw every packet that was on its way in a window, late or not."""
    judged = {
        (seq, direction): (cause, grade, relation, excess)
        for seq, direction, cause, grade, relation, excess in zip(
            *(
                verdicts[name].to_pylist()
                for name in ("seq", "direction", "cause", "grade", "relation", "excess_ns")
            ),
            strict=True,
        )
    }
    n = 0
    for direction in sorted(set(rows["direction"].to_pylist())):
        own = rows.filter(pc.equal(rows["direction"], direction))
        parent = writer.track(f"packets of direction {direction}", root)
        columns = [own[name].to_pylist() for name in ("seq", "sent_ns", "received_ns")]
        lanes: list[tuple[int, int]] = []  # a heap: when a track is free again, and the track
        for seq, sent, received in zip(*columns, strict=True):
            track = _lane(writer, parent, lanes, sent)
            cause, grade, relation, excess = judged.get((seq, direction), (None, None, None, None))
            heapq.heappush(lanes, (received, track))
            writer.slice(
                track,
                f"pkt {seq}" + (f" {cause}" if cause else ""),
                sent,
                received,
                cause=cause,
                grade=grade,
                relation=relation,
                excess_ns=excess,
            )
            n += 1
    return n


def _lane(writer: PerfettoWriter, parent: int, lanes: list[tuple[int, int]], at_ns: int) -> int:
    """Find a track that is free; tracks of one name are drawn as one."""
    if lanes and lanes[0][0] <= at_ns:
        return heapq.heappop(lanes)[1]
    return writer.track("in flight", parent)


def _packets_inside(path: Path, windows: Stretches) -> pa.Table:
    """Read the received packets that were on their way in a window, in the order of sending."""
    names = ["seq", "direction", "flags", "sent_ns", "received_ns"]
    parts = []
    with parquet.opened(path) as file:
        for batch in file.iter_batches(columns=names):
            table = pa.Table.from_batches([batch])
            table = table.filter(
                pc.and_(table["sent_ns"].is_valid(), table["received_ns"].is_valid())
            )
            flags, sent, received = (table[c].to_numpy() for c in names[2:])
            # A further receipt of a packet is no packet.
            ours = overlaps(sent, received, *windows) & (flags & int(EXTRA_RECORD) == 0)
            parts.append(table.filter(pa.array(ours)))
    return pa.concat_tables(parts).sort_by("sent_ns")


def _draw_gaps(writer: PerfettoWriter, root: int, judged: GapVerdicts, windows: Stretches) -> int:
    spans = judged.spans
    track = writer.track(f"gaps of the {spans.thread} on core {spans.core}", root)
    rows = np.flatnonzero(overlaps(spans.start_ns, spans.end_ns, *windows))
    for row in rows.tolist():
        shares: Mapping[str, int] = {s.label: s.ns for s in shares_of(judged, row)}
        writer.slice(
            track,
            CAUSES[int(judged.cause[row])].id,
            int(spans.start_ns[row]),
            int(spans.end_ns[row]),
            grade=LETTERS[int(judged.grade[row])],
            packets=int(spans.n_packets[row]),
            **{f"{label} ns": ns for label, ns in shares.items()},
        )
    return len(rows)


def _draw_segments(
    writer: PerfettoWriter, root: int, judged: GapVerdicts, windows: Stretches
) -> int:
    """Draw who had the core inside gaps: at each moment only the innermost context."""
    segments = judged.segments
    track = writer.track(
        f"who had core {judged.spans.core} in gaps of the {judged.spans.thread}", root
    )
    rows = np.flatnonzero(overlaps(segments.start_ns, segments.end_ns, *windows))
    for row in rows.tolist():
        visit = int(segments.visit[row])
        by = int(segments.visit_by[visit])
        writer.slice(
            track,
            CAUSES[int(segments.visit_cause[visit])].id,
            int(segments.start_ns[row]),
            int(segments.end_ns[row]),
            detail=segments.details[int(segments.visit_detail[visit])],
            thread=by if by >= 0 else None,
        )
    return len(rows)


def _draw_events(
    writer: PerfettoWriter, root: int, recorded: Recorded, names: Names, windows: Stretches
) -> int:
    """Draw each kernel event as a moment on its CPU."""
    parts = (window.own for window in recorded.windows())
    events = rows_together(
        [part.take(overlaps(part.time_ns, part.time_ns, *windows)) for part in parts]
    )
    parent = writer.track("kernel events", root) if len(events) else 0
    for cpu in np.unique(events.cpu).tolist():
        track = writer.track(f"cpu {cpu}", parent)
        own = events.take(events.cpu == cpu)
        columns = (own.time_ns, own.kind, own.thread, own.arg0, own.arg1)
        for at, kind, thread, arg0, arg1 in zip(*(c.tolist() for c in columns), strict=True):
            word = EVENT_KINDS[kind] or "unknown"
            name = f"{word} {_about(word, arg0, arg1, names)}".strip()
            writer.instant(track, name, at, thread=names.thread(thread), arg0=arg0, arg1=arg1)
    return len(events)


def _about(kind: str, arg0: int, arg1: int, names: Names) -> str:
    """Name what an event is about: a thread, an interrupt, a function."""
    if kind.startswith("irq_"):
        return names.irq(arg0)
    if kind.startswith("vector_"):
        return vector_name(arg0)
    if kind.startswith("softirq_"):
        return softirq_name(arg0)
    if kind in ("timer_entry", "work_entry", "work_exit", "nmi"):
        return names.function(arg0)
    if kind.startswith("call_"):
        return names.function(arg1)
    if kind == "switch":
        return f"to {names.thread(arg1 & LOW)}"
    if kind == "ipi_send_for":
        return f"to cpu{arg0 & LOW} {names.function(arg1) or 'reschedule'}"
    return names.thread(arg0) if kind == "wakeup" else ""
