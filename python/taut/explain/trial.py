"""Explain one trial: its packets, the gaps of its threads and the kernel's events together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taut.core.errors import InputError
from taut.core.timings import stage
from taut.core.units import format_ns
from taut.explain import causes
from taut.explain.arrays import Mask
from taut.explain.causes import NUMBER
from taut.explain.judge.blame import blame_packets
from taut.explain.judge.device import (
    NOTES,
    Kind,
    holds_of,
    judge_program,
    kind_of,
    lacks,
    program_of,
    sleeps,
)
from taut.explain.judge.kernel_path import Traced, judge_kernel_path
from taut.explain.judge.shares import Shares, share_out
from taut.explain.judge.verdicts import GapVerdicts, Marks, judge, mark
from taut.explain.read.events import Events, TraceNotes, no_events, read_events, read_notes
from taut.explain.read.facts import Facts, facts_of
from taut.explain.read.gaps import DEVICE, Explainable, Gaps, read_gaps
from taut.explain.read.names import Names
from taut.explain.read.packets import Tail, read_normal, read_tail
from taut.explain.read.passages import Passages
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import Spans, merged, overlaps, skipped_spans, spans_of
from taut.explain.tell.episodes import (
    cause_totals,
    episode_table,
    judge_packets,
    packet_table,
)
from taut.explain.tell.gaps import gap_totals, with_rest, worst_gaps
from taut.explain.tell.offenders import offenders_of
from taut.explain.tell.result import Explanation, Options, Source
from taut.explain.tell.stories import tell_episodes
from taut.explain.tell.unexplained import PACKETS, conditions, why_not
from taut.explain.walk.calibrate import Calibration, calibrate
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import find_thread
from taut.explain.walk.segments import Segments
from taut.explain.walk.timeline import build_timeline
from taut.explain.walk.veto import Vetoed, cut_device, cut_generator
from taut.records.documents.explanation import CountersMoved, VetoCounts
from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import (
    TRIAL_FILE,
    CoresOfTrial,
    Dut,
    DutStats,
    TrialDocument,
)
from taut.records.rundir import RunDirectory

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
    normal = read_normal(packets, options.over)
    holds = holds_of(document.dut)
    tail = read_tail(packets, normal, 1 if holds is None else holds.packets)
    trace = _read_trace(trial, tail, options.n_worst)
    passages = Passages(packets, document.dut.link or "")
    threads = judge_threads(trace, document, options, passages)
    if threads.kind is Kind.KERNEL:
        threads = _with_kernel_path(threads, trace, document, (packets, tail), options)
    device = threads.device
    blame = blame_packets(
        tail,
        normal,
        None if device is None else device.spans,
        threads.generator.spans,
        holds,
        None if device is None else device.cause == NUMBER[causes.QUEUEING],
        has_device=threads.kind is not Kind.NONE,
        # A device that logs its gaps, and is awake, hides no stall; others may, behind a queue.
        silences=None
        if threads.kind is Kind.LOGGED and not sleeps(document.dut)
        else passages.silences(_SILENT_INTERVALS * max(normal.mean_interval_ns, 1)),
    )
    judged = judge_packets(tail, blame, normal, device)
    verdicts = threads.verdicts
    return Explanation(
        name=document.name or trial.name,
        over=options.over,
        threshold_ns=normal.threshold_ns,
        p50_ns=normal.p50_ns,
        n_packets=normal.n_packets,
        n_void=normal.n_void,
        n_tail=int(np.count_nonzero(tail.is_late)),
        causes=cause_totals(judged),
        worst=tell_episodes(
            judged, device, threads.generator, options.n_worst, lacks(threads.kind, document.dut)
        ),
        offenders=offenders_of(judged, device, threads.generator, trace.gaps.rest),
        gap_totals=with_rest(gap_totals(verdicts, Names(threads.notes)), trace.gaps.rest),
        worst_gaps=worst_gaps(verdicts, options.n_worst),
        calibration=threads.calibration,
        calls=(threads.senders.n_calls, threads.senders.n_joined),
        counters=_counters(verdicts),
        missing=threads.notes.missing,
        notes=(*threads.words, *conditions(normal, trace.events)),
        vetoed=replace(threads.vetoed, packets=blame.n_vetoed),
        packets=packet_table(judged),
        episodes=episode_table(judged),
        source=Source(trial, threads.events, threads.notes, tuple(verdicts)),
    )


def _counters(verdicts: Sequence[GapVerdicts]) -> dict[str, CountersMoved]:
    return {one.spans.thread: CountersMoved(one.facts.steal, one.facts.smi) for one in verdicts}


@dataclass(frozen=True)
class Trace:
    """What was recorded beside the packets."""

    gaps: Gaps
    events: Events | None
    notes: TraceNotes
    is_guest: bool | None


@stage("reading events")
def _read_trace(trial: Path, tail: Tail, n_worst: int) -> Trace:
    events = read_events(trial)
    skipped = skipped_spans(no_events() if events is None else events)
    late = tail.is_late
    order = np.argsort(tail.sent_ns[late], kind="stable")
    met = merged(tail.sent_ns[late][order], tail.received_ns[late][order])
    gaps = read_gaps(trial / "gaps.parquet", Explainable(skipped, met, n_worst))
    return Trace(gaps, events, read_notes(trial), _is_guest(trial))


def _is_guest(trial: Path) -> bool | None:
    """Ask the run's manifest."""
    manifest = RunDirectory(trial.parent.parent).manifest_or_none()
    return None if manifest is None else manifest.is_guest


@dataclass(frozen=True)
class Threads:
    """The gaps of both polling threads, judged."""

    generator: GapVerdicts
    device: GapVerdicts | None
    events: Events
    senders: Senders
    calibration: Calibration
    notes: TraceNotes
    words: tuple[str, ...]
    kind: Kind
    vetoed: VetoCounts

    @property
    def verdicts(self) -> list[GapVerdicts]:
        """The verdicts of the threads whose gaps were judged."""
        return [self.generator] + ([self.device] if self.device is not None else [])


@dataclass(frozen=True)
class _Walked:
    """One thread's gaps and who had its core in them."""

    spans: Spans
    segments: Segments
    thread: int | None
    is_traced: bool
    vetoed: Vetoed


@stage("judging gaps")
def judge_threads(
    trace: Trace, document: TrialDocument, options: Options, passages: Passages
) -> Threads:
    """Judge the gaps of generator and device; without a log of the device, its stalls."""
    events = no_events() if trace.events is None else trace.events
    senders = join_senders(events)
    kind = kind_of(document.dut, _keeps_log(trace.gaps, document.dut))
    of_device, words = _device_meta(document, trace.gaps)
    words += _not_kept(trace.gaps)
    roles = [("generator", _generator_meta(document), options.generator_thread)]
    if kind is Kind.LOGGED:
        roles.append((DEVICE, of_device, options.device_thread))
    holds = holds_of(document.dut)
    n_held = 0 if holds is None else 2 * holds.packets
    walked = [
        _walk(trace, events, senders, name, thread, asked, passages, n_held)
        for name, thread, asked in roles
        if thread.core is not None
    ]
    if not walked:
        raise InputError("trial.json: no cores; it does not say which core the generator had")
    calibration = calibrate([(one.spans, one.segments) for one in walked])
    is_guest = trace.is_guest if options.is_guest is None else options.is_guest
    judged = _judge(walked, events, trace, calibration, is_guest)
    if trace.events is None:
        words.append("no kernel events: the run was not traced")
    words += _not_logged(document)
    device: GapVerdicts | None = judged[1] if len(judged) > 1 else None
    vetoed = walked[1].vetoed if len(walked) > 1 else Vetoed()
    if sleeps(document.dut):
        words.append("the device sleeps until packets come: the time it takes to wake is no gap")
    if kind in NOTES:
        words.append(NOTES[kind])
    core = of_device.core
    if kind is Kind.PROGRAM and core is not None and _is_traced(trace, core):
        found = judge_program(
            program_of(document.dut, trace.notes, core),
            options.device_thread,
            events,
            trace.notes,
            senders,
            calibration,
            is_guest,
            passages,
        )
        device, vetoed = found.verdicts, found.vetoed
        words += found.notes
    counts = VetoCounts(vetoed.n, walked[0].vetoed.n)
    return Threads(
        judged[0], device, events, senders, calibration, trace.notes, tuple(words), kind, counts
    )


def _with_kernel_path(
    threads: Threads,
    trace: Trace,
    document: TrialDocument,
    late: tuple[Path, Tail],
    options: Options,
) -> Threads:
    """For a device without a thread, judge the way through the kernel instead."""
    if trace.events is None:
        return replace(threads, device=None)
    is_guest = trace.is_guest if options.is_guest is None else options.is_guest
    traced = Traced(threads.events, threads.notes, threads.senders, threads.calibration, is_guest)
    device, words = judge_kernel_path(document, *late, traced)
    return replace(threads, device=device, words=(*threads.words, words))


@dataclass(frozen=True)
class _ThreadMeta:
    core: int | None
    per_packet_ns: int
    not_logged: int


def _thread_meta(core: int | None, gaps: GapCounters | None) -> _ThreadMeta:
    gaps = gaps or GapCounters()
    return _ThreadMeta(core, gaps.per_packet_ns, gaps.not_logged)


def _generator_meta(document: TrialDocument) -> _ThreadMeta:
    cores, sent = document.cores or CoresOfTrial(), document.generator or GeneratorResult()
    return _thread_meta(cores.generator, sent.gaps)


def _not_logged(document: TrialDocument) -> list[str]:
    stats = document.dut.stats or DutStats()
    gaps = {"generator": _generator_meta(document), "device": _thread_meta(None, stats.gaps)}
    return [
        f"{of.not_logged} gaps of the {role} were not logged; what happened in them stays unknown"
        for role, of in gaps.items()
        if of.not_logged
    ]


def _not_kept(gaps: Gaps) -> list[str]:
    n = sum(more.n for more in gaps.rest)
    words = f"{n} gaps that met no late packet were not looked into: no events of them were kept"
    return [words] if n else []


def _device_meta(document: TrialDocument, gaps: Gaps) -> tuple[_ThreadMeta, list[str]]:
    """The device's core and what a packet may cost it, and what is to be said of that.

    Its log calls an iteration a gap that takes more than the port's usual time for each packet. If
    most packets were handled in such iterations, that is their cost: a slow network function is no
    stall.
    """
    cores, stats = document.cores or CoresOfTrial(), document.dut.stats or DutStats()
    device = _thread_meta(cores.device, stats.gaps)
    handled = sum(port.rx or 0 for port in stats.ports or ())
    if not handled or 2 * gaps.n_handled <= handled:
        return device, []
    usual_ns = gaps.per_packet_ns
    if usual_ns <= device.per_packet_ns:
        return device, []
    words = (
        f"the device needs {format_ns(usual_ns)} a packet, its log expects "
        f"{format_ns(device.per_packet_ns)}: so much in a gap is its own work"
    )
    return replace(device, per_packet_ns=usual_ns), [words]


def _keeps_log(gaps: Gaps, dut: Dut) -> bool:
    """Whether the device logs its gaps; taut-forward does, even if there were none."""
    is_counted = dut.stats is not None and dut.stats.gaps is not None
    return is_counted or "forwarder" in gaps.table["thread"].unique().to_pylist()


def _walk(
    trace: Trace,
    events: Events,
    senders: Senders,
    name: str,
    meta: _ThreadMeta,
    asked: int | None,
    passages: Passages,
    n_held: int,
) -> _Walked:
    core = -1 if meta.core is None else meta.core
    window_ns = trace.notes.window_ns
    spans = spans_of(trace.gaps.table, name, core, events, meta.per_packet_ns, window_ns)
    spans, vetoed = (
        cut_device(spans, passages, n_held) if name == DEVICE else cut_generator(spans, passages)
    )
    thread = asked
    if thread is None:
        thread = find_thread(events, core, spans.start_ns, spans.end_ns)
    segments = build_timeline(
        events,
        Watched(core, -1 if thread is None else thread),
        (spans.start_ns, spans.end_ns),
        Names(trace.notes),
        senders,
    )
    return _Walked(spans, segments, thread, _is_traced(trace, core), vetoed)


def _is_traced(trace: Trace, core: int) -> bool:
    cores = trace.notes.cores
    return trace.events is not None and (cores is None or core in cores)


def _judge(
    walked: list[_Walked],
    events: Events,
    trace: Trace,
    calibration: Calibration,
    is_guest: bool | None,
) -> list[GapVerdicts]:
    shares = [share_out(one.spans, one.segments, calibration) for one in walked]
    judged = []
    for i, one in enumerate(walked):
        others = [(w, s) for j, (w, s) in enumerate(zip(walked, shares, strict=True)) if j != i]
        marks = _with_others(mark(one.spans, events, trace.notes), one.spans, shares[i], others)
        core, thread = one.spans.core, one.thread
        facts: Facts = facts_of(events, trace.notes, core, thread, is_guest, one.is_traced)
        judged.append(judge(one.spans, one.segments, shares[i], facts, marks))
    return judged


def _with_others(
    marks: Marks, spans: Spans, shares: Shares, others: list[tuple[_Walked, Shares]]
) -> Marks:
    """Mark gaps without events during which another core's thread has such a gap, too."""
    own = _is_empty(spans, shares)
    elsewhere = np.zeros(len(spans), bool)
    for other, other_shares in others:
        empty = _is_empty(other.spans, other_shares)
        if other.spans.core != spans.core:
            at = other.spans.start_ns[empty], other.spans.end_ns[empty]
            elsewhere |= overlaps(spans.start_ns, spans.end_ns, *at)
    return replace(marks, elsewhere=elsewhere & own)


def _is_empty(spans: Spans, shares: Shares) -> Mask:
    empty = ~spans.is_unseen
    empty[shares.gap] = False
    return empty
