"""Explain one trial: its packets, the gaps of its threads and the kernel's events together."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from taut.core.errors import InputError
from taut.core.timings import stage
from taut.explain.guest import inside_of, words_of_guest
from taut.explain.judge.blame import blame_packets
from taut.explain.judge.device import Kind, hides_stalls, holds_of, lacks
from taut.explain.judge.held import ring_of
from taut.explain.judge.kernel_path import judge_kernel_path
from taut.explain.judge.one_line import on_one_line
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.logged import Trace
from taut.explain.read.clocks import clocks_apart
from taut.explain.read.counted_normal import read_counted_normal
from taut.explain.read.events import TraceNotes, read_notes
from taut.explain.read.gaps import Explainable, read_gaps
from taut.explain.read.names import Names
from taut.explain.read.packets import Normal, Tail, late_windows, read_normal, read_tail
from taut.explain.read.passages import Passages
from taut.explain.read.recorded import recorded_in, survey
from taut.explain.read.spans import Stretches, skipped_spans
from taut.explain.tell.episodes import (
    cause_totals,
    episode_table,
    judge_packets,
    packet_table,
)
from taut.explain.tell.gaps import with_rest, worst_gaps
from taut.explain.tell.offenders import offenders_of
from taut.explain.tell.result import Explanation, Options, Source
from taut.explain.tell.stories import tell_episodes
from taut.explain.tell.unexplained import ONLY_SLOW, conditions, why_not
from taut.explain.threads import Threads, judge_threads, traced_on
from taut.records.documents.explanation import CountersMoved
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TRIAL_FILE, Hop, TrialDocument
from taut.records.rundir import RunDirectory
from taut.records.tables import GAPS, PACKETS

_SILENT_INTERVALS = 3
"""A time in which so many packets should have come back and none did is a silence."""


@stage("telling")
def explain_trial(trial: Path, options: Options = Options()) -> Explanation:  # noqa: B008 - frozen
    """Explain the tail of one trial's folder.

    InputError: it cannot be explained, or what is asked is not an option.
    """
    document = read_document(TrialDocument, trial / TRIAL_FILE)
    if (why := why_not(trial, document)) is not None:
        raise InputError(f"{trial.name}: {why}")
    packets = trial / PACKETS
    normal, holds = _normal(trial, document, options.over), holds_of(document.dut)
    tail = read_tail(packets, normal, 1 if holds is None else holds.packets)
    trace = _read_trace(trial, document, tail, options)
    passages = Passages(packets, document.dut.link or "", error_ns=trace.apart.error_ns)
    threads = judge_threads(trace, document, options, passages, tail)
    if threads.kind is Kind.KERNEL:
        threads = _with_kernel_path(threads, trace, document, (packets, tail))
    device, generator = on_one_line(threads.device), on_one_line([threads.generator])
    sent = document.generator or GeneratorResult()
    blame = blame_packets(
        tail,
        normal,
        device,
        threads.generator.spans,
        holds,
        has_device=threads.kind is not Kind.NONE,
        ring=ring_of(document.dut.link, sent.gaps),
        silences=_silences(threads, document, passages, tail, normal),
    )
    judged = judge_packets(tail, blame, normal, device)
    n_tail, verdicts = int(np.count_nonzero(tail.is_late)), threads.verdicts
    more = (*conditions(normal, n_tail, trace.survey.marks), *words_of_guest(trial, document))
    lacking = partial(lacks, threads.kind, document.dut, threads.logged)
    return Explanation(
        name=document.name or trial.name,
        over=options.over,
        threshold_ns=normal.threshold_ns,
        p50_ns=normal.p50_ns,
        base_ns=normal.base_ns,
        n_packets=normal.n_packets,
        n_void=normal.n_void,
        n_tail=n_tail,
        n_above=normal.n_beside(n_tail),
        causes=cause_totals(judged),
        worst=tell_episodes(judged, device, generator, options.n_worst, lacking),
        offenders=offenders_of(judged, device, generator, trace.gaps.rest, threads.stalls),
        gap_totals=with_rest(threads.totals.totals(Names(trace.notes)), trace.gaps.rest),
        worst_gaps=worst_gaps(verdicts, options.n_worst),
        calibration=threads.calibration,
        calls=(trace.survey.n_calls, trace.survey.n_joined),
        counters=_counters(verdicts),
        missing=trace.notes.missing,
        notes=(*threads.words, *more),
        vetoed=replace(threads.vetoed, packets=blame.n_vetoed),
        packets=packet_table(judged),
        episodes=episode_table(judged),
        source=Source(trial, trace.recorded, trace.notes, tuple(verdicts)),
    )


def _normal(trial: Path, document: TrialDocument, over: str) -> Normal:
    """Ask the packets what is usual, or the histogram where only slow ones were recorded."""
    if document.traffic.record == ONLY_SLOW:
        return read_counted_normal(trial, document, over)
    return read_normal(trial / PACKETS, over)


def _silences(
    threads: Threads, document: TrialDocument, passages: Passages, tail: Tail, normal: Normal
) -> Stretches | None:
    """Give times in which a stall that no log tells of may be; None: there is no such stall."""
    if normal.is_partial and len(tail):
        # Nothing recorded is no silence here: a time without a log may be all stalls.
        return threads.logged.beside(int(tail.sent_ns.min()), int(tail.received_ns.max()))
    if normal.is_partial or not hides_stalls(threads.kind, document.dut, threads.logged):
        return None
    return passages.silences(_SILENT_INTERVALS * max(normal.mean_interval_ns, 1))


def _counters(verdicts: Sequence[GapVerdicts]) -> dict[str, CountersMoved]:
    return {one.spans.thread: CountersMoved(one.facts.steal, one.facts.smi) for one in verdicts}


@stage("reading events")
def _read_trace(trial: Path, document: TrialDocument, tail: Tail, options: Options) -> Trace:
    apart = clocks_apart(document)
    recorded = recorded_in(trial, apart)
    known = survey(recorded)
    explainable = Explainable(skipped_spans(known.marks), late_windows(tail), options.n_worst)
    gaps = read_gaps(trial / GAPS, explainable, apart.of_threads(document))
    notes = _with_hops(read_notes(trial), document.dut.hops or ())
    notes = replace(notes, is_partial=document.traffic.record == ONLY_SLOW)
    inside = inside_of(trial, document)
    is_guest = _is_guest(trial) if options.is_guest is None else options.is_guest
    return Trace(gaps, recorded, known, notes, is_guest, inside, apart)


def _with_hops(notes: TraceNotes, hops: Sequence[Hop]) -> TraceNotes:
    """Tell the threads of a chain's hops apart: they have the same names, and may share a core."""
    found = {
        thread: f"{name} of {hop.name}"
        for hop in hops
        for thread in hop.threads
        if (name := notes.threads.get(thread))
    }
    return replace(notes, threads={**notes.threads, **found})


def _is_guest(trial: Path) -> bool | None:
    """Ask the run's manifest."""
    manifest = RunDirectory(trial.parent.parent).manifest_or_none()
    return None if manifest is None else manifest.is_guest


def _with_kernel_path(
    threads: Threads, trace: Trace, document: TrialDocument, late: tuple[Path, Tail]
) -> Threads:
    """For a device without a thread, judge the way through the kernel instead."""
    if not trace.recorded.is_there:
        return replace(threads, device=())
    core = None if document.cores is None else document.cores.device
    traced = traced_on(trace, -1 if core is None else core, threads.calibration)
    device, words = judge_kernel_path(document, *late, traced)
    if device is not None:
        threads.totals.add(device)
    return replace(
        threads, device=() if device is None else (device,), words=(*threads.words, words)
    )
