"""The gaps of a trial's polling threads, judged: the generator's, and those of its device.

The device has one thread, or as many as a chain has hops; or none that is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taut.core.errors import InputError
from taut.core.timings import stage
from taut.core.units import format_ns
from taut.explain.arrays import Mask
from taut.explain.judge.device import (
    NOTES,
    Kind,
    holds_of,
    judge_program,
    kind_of,
    program_of,
    sleeps,
)
from taut.explain.judge.shares import Shares, share_out
from taut.explain.judge.verdicts import GapVerdicts, Marks, judge, mark
from taut.explain.read.events import Events, TraceNotes, no_events
from taut.explain.read.facts import Facts, facts_of
from taut.explain.read.gaps import DEVICE, Gaps, Handled
from taut.explain.read.names import Names
from taut.explain.read.passages import Passages
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import Spans, overlaps, spans_of
from taut.explain.tell.gap_table import MEASURER
from taut.explain.tell.result import Options
from taut.explain.walk.calibrate import Calibration, calibrate
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import find_thread
from taut.explain.walk.segments import Segments
from taut.explain.walk.timeline import build_timeline
from taut.explain.walk.veto import Vetoed, cut_device, cut_generator
from taut.records.documents.explanation import VetoCounts
from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.documents.trial import CoresOfTrial, Dut, DutStats, Hop, TrialDocument


@dataclass(frozen=True)
class Trace:
    """What was recorded beside the packets."""

    gaps: Gaps
    events: Events | None
    notes: TraceNotes
    is_guest: bool | None


@dataclass(frozen=True)
class Threads:
    """The gaps of the polling threads, judged."""

    generator: GapVerdicts
    device: tuple[GapVerdicts, ...]
    """One for each of its threads; empty: none is known."""
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
        return [self.generator, *self.device]


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
    of_device, words = _loops_of_device(document, trace.gaps, options)
    words += _not_kept(trace.gaps)
    loops = [_loop_of_generator(document, options)]
    if kind is Kind.LOGGED:
        loops += of_device
    holds = holds_of(document.dut)
    n_held = 0 if holds is None else 2 * holds.packets
    if document.dut.hops:
        # While one hop stands still, the others let out what had passed it.
        passages = replace(passages, link="")
    walked = [
        _walk(trace, events, senders, loop, passages, n_held)
        for loop in loops
        if loop.core is not None
    ]
    if not walked:
        raise InputError("trial.json: no cores; it does not say which core the generator had")
    calibration = calibrate([(one.spans, one.segments) for one in walked])
    is_guest = trace.is_guest if options.is_guest is None else options.is_guest
    judged = _judge(walked, events, trace, calibration, is_guest)
    if trace.events is None:
        words.append("no kernel events: the run was not traced")
    words += _not_logged([loops[0], *of_device])
    device = tuple(judged[1:])
    n_vetoed = sum(one.vetoed.n for one in walked[1:])
    if sleeps(document.dut):
        words.append("the device sleeps until packets come: the time it takes to wake is no gap")
    if kind in NOTES:
        words.append(NOTES[kind])
    core = of_device[0].core
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
        device = () if found.verdicts is None else (found.verdicts,)
        n_vetoed = found.vetoed.n
        words += found.notes
    counts = VetoCounts(n_vetoed, walked[0].vetoed.n)
    return Threads(
        judged[0], device, events, senders, calibration, trace.notes, tuple(words), kind, counts
    )


@dataclass(frozen=True)
class _Loop:
    """A loop that logs its gaps, as its trial has it."""

    name: str
    core: int | None
    per_packet_ns: int
    not_logged: int
    asked: int | None = None
    """Which thread runs it, where somebody said so."""
    threads: tuple[int, ...] = ()
    """Among which it is; empty: not known."""


def _loop(name: str, core: int | None, gaps: GapCounters | None) -> _Loop:
    gaps = gaps or GapCounters()
    return _Loop(name, core, gaps.per_packet_ns, gaps.not_logged)


def _loop_of_generator(document: TrialDocument, options: Options) -> _Loop:
    cores, sent = document.cores or CoresOfTrial(), document.generator or GeneratorResult()
    return replace(_loop(MEASURER, cores.generator, sent.gaps), asked=options.generator_thread)


def _not_logged(loops: Sequence[_Loop]) -> list[str]:
    return [
        f"{loop.not_logged} gaps of the {'device' if loop.name == DEVICE else loop.name} were not "
        "logged; what happened in them stays unknown"
        for loop in loops
        if loop.not_logged
    ]


def _not_kept(gaps: Gaps) -> list[str]:
    n = sum(more.n for more in gaps.rest)
    words = f"{n} gaps that met no late packet were not looked into: no events of them were kept"
    return [words] if n else []


def _loops_of_device(
    document: TrialDocument, gaps: Gaps, options: Options
) -> tuple[list[_Loop], list[str]]:
    """Give the loops that packets pass, with what a packet may cost, and what is to be said of it.

    A log calls an iteration a gap that takes more than the port's usual time for each packet. If
    most packets were handled in such iterations, that is their cost: a slow network function is no
    stall.
    """
    dut, cores = document.dut, document.cores or CoresOfTrial()
    found, words = [], []
    for hop in dut.hops or (Hop(DEVICE, -1, (), dut.stats),):
        stats = hop.stats or DutStats()
        loop = _loop(hop.name, hop.core if dut.hops else cores.device, stats.gaps)
        loop = replace(loop, threads=hop.threads, asked=None if dut.hops else options.device_thread)
        handled = sum(port.rx or 0 for port in stats.ports or ())
        in_gaps = gaps.handled.get(hop.name, Handled())
        usual_ns = in_gaps.per_packet_ns
        if 0 < handled < 2 * in_gaps.n and usual_ns > loop.per_packet_ns:
            who = hop.name if dut.hops else "the device"
            words.append(
                f"{who} needs {format_ns(usual_ns)} a packet, its log expects "
                f"{format_ns(loop.per_packet_ns)}: so much in a gap is its own work"
            )
            loop = replace(loop, per_packet_ns=usual_ns)
        found.append(loop)
    return found, words


def _keeps_log(gaps: Gaps, dut: Dut) -> bool:
    """Whether the device logs its gaps; taut-forward does, even if there were none."""
    if dut.hops:
        return True
    is_counted = dut.stats is not None and dut.stats.gaps is not None
    return is_counted or "forwarder" in gaps.table["thread"].unique().to_pylist()


def _walk(
    trace: Trace,
    events: Events,
    senders: Senders,
    loop: _Loop,
    passages: Passages,
    n_held: int,
) -> _Walked:
    core = -1 if loop.core is None else loop.core
    window_ns = trace.notes.window_ns
    spans = spans_of(trace.gaps.table, loop.name, core, events, loop.per_packet_ns, window_ns)
    spans, vetoed = (
        cut_generator(spans, passages)
        if loop.name == MEASURER
        else cut_device(spans, passages, n_held)
    )
    thread = loop.asked
    if thread is None:
        thread = find_thread(events, core, spans.start_ns, spans.end_ns, loop.threads)
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
