"""The gaps of a trial's polling threads, judged: the generator's, and those of its device.

The device has one thread, or as many as a chain has hops; or none that is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from taut.core.errors import InputError
from taut.core.timings import stage
from taut.core.units import format_ns
from taut.explain.arrays import AFTER_ALL, BEFORE_ALL
from taut.explain.judge.device import (
    NOTES,
    SLEEPS,
    Kind,
    Logged,
    holds_of,
    judge_program,
    judge_waking,
    kind_of,
    program_of,
    sleeps,
)
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.logged import Role, Trace, judge_logged
from taut.explain.read.ahead import rows_together
from taut.explain.read.events import TraceNotes
from taut.explain.read.facts import groups_gone
from taut.explain.read.gaps import DEVICE, Gaps, Handled
from taut.explain.read.packets import Tail
from taut.explain.read.passages import Passages
from taut.explain.read.senders import join_senders
from taut.explain.read.spans import Spans, spans_of
from taut.explain.tell.gap_table import MEASURER
from taut.explain.tell.gaps import GapSums
from taut.explain.tell.offenders import StallSums
from taut.explain.tell.result import Options
from taut.explain.walk.calibrate import Calibration
from taut.explain.walk.veto import Vetoed, cut_device, cut_generator
from taut.records.convert import GAP_SCHEMA
from taut.records.documents.explanation import VetoCounts
from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.documents.trial import CoresOfTrial, Dut, DutStats, Hop, TrialDocument
from taut.testbed.links import LINKS


@dataclass(frozen=True)
class Threads:
    """The gaps of the polling threads, judged."""

    generator: GapVerdicts
    device: tuple[GapVerdicts, ...]
    """One for each of its threads; empty: none is known."""
    totals: GapSums
    """Of all gaps that were judged."""
    stalls: Mapping[str, StallSums]
    """By the thread that logged its gaps, of all of them."""
    calibration: Calibration
    words: tuple[str, ...]
    kind: Kind
    vetoed: VetoCounts
    logged: Logged

    @property
    def verdicts(self) -> list[GapVerdicts]:
        """The verdicts of the threads whose gaps were judged."""
        return [self.generator, *self.device]


_LEAST_WORK_NS = 250
"""A packet of a burst that comes after a pause may take this long over memif, in cold caches."""


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


@stage("judging gaps")
def judge_threads(
    trace: Trace, document: TrialDocument, options: Options, passages: Passages, tail: Tail
) -> Threads:
    """Judge the gaps of generator and device; without a log of the device, its stalls."""
    kind = kind_of(document.dut, _keeps_log(trace.gaps, document.dut))
    of_device, words = _loops_of_device(document, trace.gaps, options)
    loops = [_loop_of_generator(document, trace.gaps, options)]
    logged_for = _logged_for(trace.gaps, document.dut, loops, of_device)
    words += _not_known(trace, document.dut, kind, [*loops, *of_device])
    if kind is Kind.LOGGED:
        loops += of_device
    holds = holds_of(document.dut)
    n_held = 0 if holds is None else 2 * holds.packets
    if document.dut.hops:
        # While one hop stands still, the others let out what had passed it.
        passages = replace(passages, link="")
    roles = [_role(trace, loop, passages, n_held) for loop in loops if loop.core is not None]
    link = LINKS.get(document.dut.link or "")
    if link is not None and link.crosses_kernel:
        roles = [replace(role, makes_calls=True) for role in roles]
    if not roles:
        raise InputError("trial.json: no cores; it does not say which core the generator had")
    logged = judge_logged(trace, roles, tail, options)
    device = list(logged.verdicts[1:])
    n_vetoed = sum(logged.n_vetoed[1:])
    core = of_device[0].core
    if core is not None and trace.has(core) and (kind is Kind.PROGRAM or sleeps(document.dut)):
        traced = traced_on(trace, core, logged.calibration)
        program = program_of(document.dut, trace.notes, core)
        found = (
            judge_program(program, options.device_thread, traced, passages)
            if kind is Kind.PROGRAM
            else judge_waking(program, options.device_thread, traced, passages, _whole(roles[1]))
        )
        n_vetoed += found.vetoed.n
        words += found.notes
        if found.verdicts is not None:
            device.append(found.verdicts)
            logged.totals.add(found.verdicts)
    return Threads(
        logged.verdicts[0],
        tuple(device),
        logged.totals,
        logged.stalls,
        logged.calibration,
        tuple(words),
        kind,
        VetoCounts(n_vetoed, logged.n_vetoed[0]),
        logged_for,
    )


def _logged_for(
    gaps: Gaps, dut: Dut, of_generator: Sequence[_Loop], of_device: Sequence[_Loop]
) -> Logged:
    """Say for how long there are logs: one that did not take all gaps ends with its last."""

    def until_ns(loops: Sequence[_Loop]) -> int:
        ends = [gaps.end_ns.get(loop.name, BEFORE_ALL) for loop in loops if loop.not_logged]
        return min(ends, default=AFTER_ALL)

    from_ns = BEFORE_ALL if dut.logged_from_ns is None else dut.logged_from_ns
    return Logged(from_ns, until_ns(of_device), until_ns(of_generator))


def traced_on(trace: Trace, core: int, calibration: Calibration) -> Traced:
    """Take out of a trace what was recorded of one core."""
    events = trace.recorded.about(core)
    return Traced(events, trace.notes, join_senders(events), calibration, trace.is_guest)


def _role(trace: Trace, loop: _Loop, passages: Passages, n_held: int) -> Role:
    inside = None if loop.name == MEASURER else trace.inside
    core = -1 if loop.core is None else loop.core
    marks, window_ns = trace.survey.marks, trace.notes.window_ns
    error_ns = 0 if inside is None else inside.error_ns

    def spans(gaps: pa.Table) -> Spans:
        own = spans_of(gaps, loop.name, core, marks, loop.per_packet_ns, window_ns)
        return replace(own, error_ns=error_ns)

    def cut(some: Spans) -> tuple[Spans, Vetoed]:
        if loop.name == MEASURER:
            return cut_generator(some, passages)
        return cut_device(some, passages, n_held)

    head = spans(GAP_SCHEMA.empty_table())
    return Role(
        head,
        lambda: map(spans, trace.gaps.of(loop.name)),
        cut,
        loop.asked,
        trace.has(core),
        loop.threads,
        inside,
    )


def _whole(role: Role) -> Spans:
    """Give all gaps of a thread at once."""
    spans, _ = role.cut(rows_together([role.head, *role.read()]))
    return spans


def _loop(name: str, core: int | None, counted: GapCounters | None, gaps: Gaps) -> _Loop:
    counted = counted or GapCounters()
    granted_ns = _granted_ns(counted, gaps.handled.get(name, Handled()))
    return _Loop(name, core, granted_ns, counted.not_logged)


def _granted_ns(counted: GapCounters, in_gaps: Handled) -> int:
    """Give what a packet in a gap is granted as the thread's own work: what it usually takes.

    The log's allowance is for the worst of a kernel's ports: of many packets it hides a stall. A
    network function may take longer: a few of its packets together are no gap yet. Most of what
    lone packets take may be the iteration's: no packet of many needs more than in the quickest gap.
    """
    if not counted.work_packets:
        return counted.per_packet_ns
    usual_ns = counted.work_ns // counted.work_packets
    if in_gaps.least_ns is not None:
        usual_ns = min(usual_ns, in_gaps.least_ns)
    return max(usual_ns, _LEAST_WORK_NS)


def _loop_of_generator(document: TrialDocument, gaps: Gaps, options: Options) -> _Loop:
    cores, sent = document.cores or CoresOfTrial(), document.generator or GeneratorResult()
    loop = _loop(MEASURER, cores.generator, sent.gaps, gaps)
    return replace(loop, asked=options.generator_thread)


def _not_known(trace: Trace, dut: Dut, kind: Kind, loops: Sequence[_Loop]) -> list[str]:
    """Say what was not recorded, and what is not known for that."""
    words = _not_kept(trace.gaps)
    if dut.logged_from_ns is not None:
        words.append(
            f"the device was restarted: its log of gaps begins {format_ns(dut.logged_from_ns)} "
            "after the first packet was due; its stalls before that are not known"
        )
    if not trace.recorded.is_there:
        words.append("no kernel events: the run was not traced")
    words += _not_logged(loops) + _not_counted(trace.notes) + trace.apart.words
    if kind in NOTES:
        words.append(NOTES[kind])
    return [*words, SLEEPS] if sleeps(dut) else words


def _not_logged(loops: Sequence[_Loop]) -> list[str]:
    return [
        f"{loop.not_logged} gaps of the {'device' if loop.name == DEVICE else loop.name} were not "
        "logged; what happened in them stays unknown"
        for loop in loops
        if loop.not_logged
    ]


def _not_counted(notes: TraceNotes) -> list[str]:
    return [
        f"control group {name} was gone when the trace ended: how long it throttled is not known"
        for name in groups_gone(notes)
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
    nine packets in ten were handled in such iterations, that is their cost: a slow network function
    is no stall. Where fewer were, the others say what a packet costs (`_granted_ns`).
    """
    dut, cores = document.dut, document.cores or CoresOfTrial()
    found, words = [], []
    asked = options.device_thread
    if asked is None and dut.guest is not None:
        asked = dut.guest.cpu_thread
    for hop in dut.hops or (Hop(DEVICE, -1, (), dut.stats),):
        stats = hop.stats or DutStats()
        expected_ns = stats.gaps.per_packet_ns if stats.gaps else 0
        loop = _loop(hop.name, hop.core if dut.hops else cores.device, stats.gaps, gaps)
        loop = replace(loop, threads=hop.threads, asked=None if dut.hops else asked)
        handled = sum(port.rx or 0 for port in stats.ports or ())
        in_gaps = gaps.handled.get(hop.name, Handled())
        usual_ns = in_gaps.per_packet_ns
        if 0 < 9 * handled < 10 * in_gaps.n and usual_ns > expected_ns:
            who = hop.name if dut.hops else "the device"
            words.append(
                f"{who} needs {format_ns(usual_ns)} a packet, its log expects "
                f"{format_ns(expected_ns)}: so much in a gap is its own work"
            )
            loop = replace(loop, per_packet_ns=usual_ns)
        found.append(loop)
    return found, words


def _keeps_log(gaps: Gaps, dut: Dut) -> bool:
    """Whether the device logs its gaps; taut-forward does, even if there were none."""
    if dut.hops:
        return True
    is_counted = dut.stats is not None and dut.stats.gaps is not None
    return is_counted or gaps.n.get(DEVICE, 0) > 0
