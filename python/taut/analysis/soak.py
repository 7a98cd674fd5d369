"""What a soak found, from what its segments left: rows, histograms, and explained packets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median_low

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.drift import trend_of
from taut.analysis.extrapolation import extrapolate
from taut.analysis.soak_judging import judge_rows
from taut.core.errors import InputError
from taut.core.requirement import Requirement
from taut.experiment.soak import Soak
from taut.explain.causes import BY_ID
from taut.explain.tell.result import Options
from taut.explain.trial import explain_trial
from taut.records import parquet
from taut.records.documents.soak import (
    Beyond,
    CausesOfHour,
    Clean,
    Course,
    Row,
    Segment,
    SoakDocument,
    Trend,
)
from taut.records.layout import EXTRA_RECORD, PacketFlag
from taut.records.rows import elapsed, failing
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.records.segments import Kept, merged, read_segments

_HOUR_NS = 3_600_000_000_000
_NO_STORIES = 0
_FILLING = 5
"""The first fifth of a segment's rows says nothing of how memory goes on."""
_SHORT = 0.5
"""A row shorter than that much of the others is no equal of theirs in a test of trends."""
_NEAR = 0.1
"""Lengths of rows that differ by less are one: rows end when they are read."""


def soak_document(run: RunDirectory, soak: Soak, stopped: str | None) -> SoakDocument | None:
    """Put together all that is known of a soak; None: the device has no row."""
    kept = read_segments(run.path)
    trials = {trial.name: trial for trial in run.trials()}
    courses = [
        _course(soak, trials, [one for one in kept if one.segment.start.is_control is is_control])
        for is_control in (False, True)
    ]
    if not courses[0].segments:
        return None
    return SoakDocument(
        name=soak.spec.name,
        planned_ns=soak.planned_ns,
        every_ns=soak.every_ns,
        course=replace(courses[0], beyond=beyond_of(courses[0].segments)),
        control=courses[1] if courses[1].segments else None,
        verdicts=tuple(judge_rows(soak.requirements, courses[0].segments, soak.n_planned)),
        stopped=stopped,
        notes=tuple(_notes(kept)),
    )


def _course(soak: Soak, trials: dict[str, TrialDirectory], kept: Sequence[Kept]) -> Course:
    kept = [one for one in kept if one.segment.rows]
    timed = [replace(one.segment, rows=tuple(_with_times(one, trials))) for one in kept]
    rows = [row for segment in timed for row in segment.rows]
    names = rows[0].counters if rows else {}
    return Course(
        device=timed[0].start.device if timed else "",
        segments=tuple(timed),
        measured_ns=sum(segment.measured_ns for segment in timed),
        counters={name: sum(row.counters[name] for row in rows) for name in names},
        latency=merged([one.all for one in kept]).figures(),
        on_time=merged([one.on_time for one in kept]).figures(),
        trends=tuple(_trends(timed)),
        clean=tuple(clean_stretch(rule, timed) for rule in soak.clean),
        causes=tuple(_causes(timed, trials)),
        beyond=None,
    )


def _trends(segments: Sequence[Segment]) -> Iterator[Trend]:
    """Test figures over rows of about one length, whatever segment they are of."""
    rows = list(elapsed(segments))
    lengths = [row.end_ns - row.start_ns for _, row in rows]
    usual = np.median(lengths) if lengths else 0
    full = [pair for pair in rows if _is_full(pair[1], usual)]
    hours = [(before + (row.start_ns + row.end_ns) / 2) / _HOUR_NS for before, row in full]
    for name in ("p50", "p99.9"):
        found = [row.latency.percentiles_ns[name] for _, row in full]
        known = [(hour, value) for hour, value in zip(hours, found, strict=True) if value]
        yield trend_of(f"{name}_ns", [hour for hour, _ in known], [v for _, v in known])
    if segments:
        # A program of another segment is another process: its memory is compared within one.
        longest = max(segments, key=lambda one: one.measured_ns)
        yield from _memory([row for row in longest.rows if _is_full(row, usual)])


def _memory(rows: Sequence[Row]) -> Iterator[Trend]:
    own = rows[len(rows) // _FILLING :]
    for name in sorted({name for row in own for name in row.memory_bytes}):
        rows_with = [row for row in own if name in row.memory_bytes]
        yield trend_of(
            f"memory_bytes of {name}",
            [(row.start_ns + row.end_ns) / 2 / _HOUR_NS for row in rows_with],
            [float(row.memory_bytes[name]) for row in rows_with],
        )


def _is_full(row: Row, usual_ns: float) -> bool:
    return row.end_ns - row.start_ns >= _SHORT * usual_ns


def _is_near(length_ns: int, usual_ns: int) -> bool:
    return abs(length_ns - usual_ns) < _NEAR * usual_ns


def clean_stretch(rule: Requirement, segments: Sequence[Segment]) -> Clean:
    """Find the longest stretch of rows without a failure; a break of the soak ends a stretch."""
    longest_ns, starts_ns, n_clean, n_rows = 0, None, 0, 0
    before_ns = 0
    for segment in segments:
        rows = segment.rows
        n_rows += len(rows)
        for is_clean, stretch in groupby(rows, key=lambda row: _is_clean(rule, row)):
            found = list(stretch)
            length_ns = found[-1].end_ns - found[0].start_ns
            n_clean += len(found) * is_clean
            if is_clean and length_ns > longest_ns:
                longest_ns, starts_ns = length_ns, before_ns + found[0].start_ns
        before_ns += segment.measured_ns
    return Clean(rule.text, longest_ns, starts_ns, n_clean, n_rows)


def _is_clean(rule: Requirement, row: Row) -> bool:
    """Whether a row keeps to a rule, without what the generator itself held up."""
    n = failing(rule, row, own=True)
    # A row in which the generator held up every packet says nothing of the device.
    return n is not None and row.on_time.n > 0 and n <= rule.share_above * row.on_time.n


def _with_times(one: Kept, trials: dict[str, TrialDirectory]) -> Iterator[Row]:
    """Say when each row's slowest packet came back, where it was recorded."""
    trial = trials.get(one.segment.start.trial)
    if trial is None or not trial.packets.is_file():
        yield from one.segment.rows
        return
    columns = ["flags", "sent_ns", "received_ns"]
    packets = parquet.read_table(trial.packets, columns=columns).drop_null()
    # What came again is stamped as its packet was, and not of the row's latencies.
    own = (packets["flags"].to_numpy() & int(PacketFlag.COLD | EXTRA_RECORD)) == 0
    packets = packets.filter(pa.array(own))
    latency = pc.subtract(packets["received_ns"], packets["sent_ns"]).to_numpy()
    received = packets["received_ns"].to_numpy() - one.segment.start.warm_up_ns
    order = np.argsort(received, kind="stable")
    received, latency = received[order], latency[order]
    for row in one.segment.rows:
        # While a row was read packets still came.
        first, end = np.searchsorted(received, [row.start_ns, row.end_ns + row.took_ns + 1])
        if row.latency.max_ns is None or first == end:
            yield row
            continue
        at = first + int(np.argmax(latency[first:end]))
        is_it = abs(latency[at] - row.latency.max_ns) <= 1 + row.latency.max_ns * 1e-4
        yield replace(row, max_at_ns=int(received[at])) if is_it else row


def _causes(
    segments: Sequence[Segment], trials: dict[str, TrialDirectory]
) -> Iterator[CausesOfHour]:
    """Add up by hour what the causes of slow packets took."""
    hours: dict[int, dict[str, int]] = {}
    counts: dict[int, int] = {}
    before_ns = 0
    for segment in segments:
        trial = trials.get(segment.start.trial)
        for hour, cause, excess_ns, n in _explained(trial, segment, before_ns):
            own = hours.setdefault(hour, {})
            own[cause] = own.get(cause, 0) + excess_ns
            counts[hour] = counts.get(hour, 0) + n
        before_ns += segment.measured_ns
    for hour in sorted(hours):
        by_cause = sorted(hours[hour].items(), key=lambda pair: -pair[1])
        yield CausesOfHour(hour, counts[hour], dict(by_cause))


def _explained(
    trial: TrialDirectory | None, segment: Segment, before_ns: int
) -> Iterator[tuple[int, str, int, int]]:
    if trial is None or not trial.is_whole:
        return
    try:
        packets = explain_trial(trial.path, Options(n_worst=_NO_STORIES)).packets
    except InputError:
        return  # The run's report says why it is not explained.
    if packets is None:
        return
    since_ns = pc.add(pc.subtract(packets["sent_ns"], segment.start.warm_up_ns), before_ns)
    hour = pc.divide(pc.max_element_wise(since_ns, 0), _HOUR_NS)
    table = packets.select(["cause", "excess_ns"]).append_column("hour", hour)
    grouped = table.group_by(["hour", "cause"]).aggregate(
        [("excess_ns", "sum"), ("excess_ns", "count")]
    )
    for row in grouped.sort_by([("hour", "ascending"), ("cause", "ascending")]).to_pylist():
        name = BY_ID[row["cause"]].title
        yield row["hour"], name, row["excess_ns_sum"] or 0, row["excess_ns_count"]


def _notes(kept: Sequence[Kept]) -> Iterator[str]:
    for i, one in enumerate(kept):
        segment = one.segment
        if segment.ended == "killed":
            yield (
                f"segment {i} was killed after {segment.measured_ns / 1e9:,.0f} s: its rows count, "
                "what was measured after the last of them and its records are lost"
            )
        elif segment.ended == "failed":
            yield f"segment {i} failed: {segment.why}; its rows count, its records are lost"
        for row in segment.rows:
            yield from (f"segment {i}, row {row.n}: {note}" for note in row.notes)


def beyond_of(segments: Sequence[Segment]) -> Beyond:
    """Extrapolate to ten times the rows, from packets that the generator did not hold up."""
    rows = [row for segment in segments for row in segment.rows]
    lengths = [row.end_ns - row.start_ns for row in rows]
    # Where a soak went on with another --every, only rows of one length are alike.
    usual_ns = median_low(lengths)
    alike = [row for row, ns in zip(rows, lengths, strict=True) if _is_near(ns, usual_ns)]
    found = [row.on_time.max_ns for row in alike]
    maxima = [float(most) for most in found if most is not None]
    return extrapolate(maxima, usual_ns, seed=1)
