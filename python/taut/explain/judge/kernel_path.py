"""What held packets in a device that is the kernel itself: what forwards between two veth links.

It has no thread to watch. The way of a packet is: another core tells this one of it (an
interrupt, or a flag for a core that polls, or sleeps by MWAIT, while idle), the core wakes up,
takes the interrupt, enters the softirq, or leaves that to ksoftirqd, which waits for the core.
Where a late packet was inside and none came out, each moment belongs to the step that was under
way. An idle core counts as a step only once it was told.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints, Mask, at_or
from taut.explain.causes import NUMBER
from taut.explain.judge.shares import share_out
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import C, D, GapVerdicts, doubted, judge, mark
from taut.explain.read.events import Events, high, low
from taut.explain.read.facts import facts_of
from taut.explain.read.names import Names
from taut.explain.read.packets import Tail, late_windows
from taut.explain.read.spans import Spans, lost_spans, overlaps, skipped_spans
from taut.explain.walk.calibrate import usual_ns
from taut.explain.walk.layers import (
    IDLE,
    SENT_WITHIN_NS,
    Layer,
    Layers,
    interrupts_sent,
    layers_of,
    network_runs,
    network_threads,
    sleeps_deeply,
)
from taut.explain.walk.network_runs import (
    Carried,
    HeldStretches,
    carry,
    find_holds,
    told_of_packets,
)
from taut.explain.walk.steps import Scene, Work, paint
from taut.records.documents.trial import TrialDocument

SOFTIRQ = "softirq"
"""Stands where other spans name a thread: the device has none."""


def judge_kernel_path(
    document: TrialDocument, packets: Path, tail: Tail, traced: Traced
) -> tuple[GapVerdicts | None, str]:
    """Judge when the device's core held late packets, and say in words what was looked at.

    None: it has no core of its own, or its softirqs were not recorded.
    """
    core = None if document.cores is None else document.cores.device
    if core is None or document.dut.options.get("placement") == "sender":
        return None, (
            "the device works in the sender's softirq, on the generator's core: what holds it up "
            "is a gap of the generator's"
        )
    names = Names(traced.notes)
    layers = layers_of(traced.events, core, names)
    runs = network_runs(traced.events, layers.softirq)
    if not len(runs):
        return None, f"no network softirq was recorded on core {core}: what held packets is unknown"
    told = told_of_packets(traced.events, core, names)
    carried = carry(packets, runs, late_windows(tail))
    polls = _polls(traced.events, core, runs)
    if len(told):
        # Packets also wait from when a poll used up its budget, or from when ksoftirqd waits.
        told = np.sort(np.concatenate([told, runs.end_ns[polls.is_full], layers.waiting.start_ns]))
    awake = layers.thread.take(np.isin(layers.who, network_threads(names, core)))
    holds = find_holds(runs, tail, carried, polls.handled, told, awake)
    work = _work(runs, carried, polls.handled)
    facts = facts_of(traced.events, traced.notes, core, None, traced.is_guest, is_traced=True)
    scene = Scene(
        holds, layers, work, traced.events, core, names, traced.senders, traced.is_guest, facts.smi
    )
    segments = paint(scene)
    spans = _spans(holds, work, traced, core)
    shares = share_out(spans, segments, traced.calibration)
    verdicts = judge(spans, segments, shares, facts, mark(spans, traced.events, traced.notes))
    usual = _usual_waking(traced.events, core, layers, runs, told)
    words = f"the device is the network softirq of core {core}: what held packets before it ran"
    words += " is told from kernel events"
    if not len(told):
        words += "; when the core was told of them is not known, so they count from their sending"
    return _regraded(verdicts, holds, usual, len(told) > 0), words


@dataclass(frozen=True)
class _Polls:
    """What each run of the network softirq did; nothing where that was not recorded."""

    handled: Ints
    is_full: Mask
    """Marks runs in which a poll used up its budget: it may have left packets behind."""


def _polls(events: Events, core: int, runs: Layer) -> _Polls:
    rows = np.flatnonzero(events.of("napi_poll") & (events.cpu == core))
    at = runs.at(events.time_ns[rows])
    rows, at = rows[at >= 0], at[at >= 0]
    n, most = low(events.arg0[rows]), high(events.arg0[rows])
    handled, is_full = np.zeros(len(runs), np.int64), np.zeros(len(runs), bool)
    np.add.at(handled, at, n)
    is_full[at[n >= most]] = True
    return _Polls(handled, is_full)


def _work(runs: Layer, carried: Carried, handled: Ints) -> Work:
    """Tell what the runs handled, and how long a run usually needs for a packet of the trial."""
    length, n = runs.end_ns - runs.start_ns, carried.n_packets
    own = n > 0
    # A packet passes the backlog of the core twice: once for each link.
    passes = float(np.median(handled[own] / n[own])) if own.any() else 0.0
    foreign = handled.copy()
    if passes:
        n = _settled(n, (handled / passes).astype(np.int64), carried.later)
        foreign = np.maximum(handled - np.ceil(passes * n).astype(np.int64), 0)
        foreign = np.minimum(foreign, _left_over(handled, carried.n_packets, passes, foreign))
    alone = (n > 0) & (foreign == 0)
    usual = int(np.median(length[alone] // n[alone])) if alone.any() else 0
    return Work(runs, foreign, usual)


def _left_over(handled: Ints, n: Ints, passes: float, foreign: Ints) -> Ints:
    """Give for each run how many packets of others its stretch has room for, less those before it.

    Of a backlog a run may take what enters and let out nothing. Runs of more than one packet that
    follow each other have together no more of others than is left when all of theirs are out.
    """
    is_busy = handled > np.ceil(passes)
    first = ~is_busy | ~np.append(False, is_busy[:-1])
    stretch = np.cumsum(first) - 1
    left = np.bincount(stretch, handled) - np.ceil(passes * np.bincount(stretch, n))
    before = np.cumsum(foreign) - foreign
    before -= before[first][stretch]
    room: Ints = np.maximum(left.astype(np.int64)[stretch] - before, 0)
    return room


def _settled(n: Ints, most: Ints, later: Ints) -> Ints:
    """Pass packets that a run cannot have handled on to the runs after it.

    A packet is counted with the earliest run that may have let it out. That is too early for one
    that came while the run was under way, or that the generator found only after several runs. No
    run passes on more than `later`, what may still have been inside: a run that let out what runs
    before it took in would owe the rest for ever, and packets of others would pay for it.
    """
    left = np.zeros(len(n) + 1, np.int64)
    rows = np.flatnonzero(later > 0)
    surplus = (n - most)[rows].tolist()
    for row, more, inside in zip(rows.tolist(), surplus, later[rows].tolist(), strict=True):
        left[row + 1] = min(max(left[row] + more, 0), inside)
    settled: Ints = n + left[:-1] - left[1:]
    return settled


def _spans(holds: HeldStretches, work: Work, traced: Traced, core: int) -> Spans:
    lost = overlaps(holds.start_ns, holds.end_ns, *lost_spans(traced.events, core))
    return Spans(
        SOFTIRQ,
        core,
        holds.start_ns,
        holds.end_ns,
        holds.n_packets,
        lost,
        work.per_packet_ns,
        skipped_spans(traced.events),
        traced.notes.window_ns,
    )


def _usual_waking(events: Events, core: int, layers: Layers, runs: Layer, told: Ints) -> int | None:
    """Give the ns below which a wake-up from idle is usual here; None: too few were seen."""
    asleep = told[_is_idle(layers, told)]
    sent = interrupts_sent(events, core)
    if len(sent):
        at = np.searchsorted(sent, asleep)
        is_sent = sent[np.minimum(at, len(sent) - 1)] - asleep <= SENT_WITHIN_NS
        asleep = asleep[is_sent | sleeps_deeply(events, core, asleep)]
    then = np.searchsorted(runs.start_ns, asleep)
    known = then < len(runs)
    took = runs.start_ns[then[known]] - asleep[known]
    return usual_ns(took)


def _is_idle(layers: Layers, times: Ints) -> Mask:
    thread = at_or(layers.who, layers.thread.at(times), -1)
    idle: Mask = (thread == IDLE) & (layers.softirq.at(times) < 0)
    return idle


def _regraded(
    verdicts: GapVerdicts, holds: HeldStretches, usual_ns: int | None, is_told: bool
) -> GapVerdicts:
    """Lower the grade of verdicts that no event proves: they are reached by exclusion.

    That an idle core held packets is a guess unless an event says when it was told of them. That
    softirqs were off follows on bare metal from the core being awake, if firmware did not have it.
    """
    verdicts = doubted(verdicts, holds.served_ns - holds.start_ns, usual_ns)
    grade, facts = verdicts.grade, verdicts.facts
    if facts.is_guest is False:
        is_off = verdicts.cause == NUMBER[causes.SOFTIRQS_OFF]
        grade = np.where(is_off, np.maximum(grade, D if facts.smi is None else C), grade)
    if not is_told:
        grade = np.where(verdicts.cause == NUMBER[causes.IDLE_EXIT], D, grade)
    return replace(verdicts, grade=grade)
