"""Polling threads without packets: with a log of their gaps, or from kernel events alone."""

import pyarrow as pa

from taut.core.timings import stage
from taut.explain.judge.shares import share_out
from taut.explain.judge.stalls import judge_stalls
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import judge, mark
from taut.explain.read.events import Events, TraceNotes
from taut.explain.read.facts import facts_of
from taut.explain.read.names import Names
from taut.explain.read.recorded import Recorded
from taut.explain.read.senders import Senders, join_senders
from taut.explain.read.spans import spans_of
from taut.explain.tell.gaps import gap_totals, worst_gaps
from taut.explain.tell.result import Explanation, Options, Source
from taut.explain.walk.calibrate import Calibration, calibrate
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import WorkMode, find_thread, work_mode_of
from taut.explain.walk.running import ASLEEP
from taut.explain.walk.timeline import build_timeline
from taut.records.documents.explanation import CountersMoved


@stage("judging gaps")
def explain_events(
    events: Events,
    core: int,
    thread: int,
    notes: TraceNotes | None = None,
    calibration: Calibration | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
    looks: tuple[int, int] = (0, 0),
    mode: WorkMode | None = None,
) -> Explanation:
    """Explain when a thread without a log lost its core; gaps without events stay unseen.

    `looks` are the thread's states right before and right after the trace (running.state_of): of a
    thread that never had its core the events do not say whether it wanted to. `mode`: how it
    works, by an earlier trace; None: this one tells.
    """
    notes = notes or TraceNotes()
    senders = join_senders(events)
    calibration = calibration or Calibration()
    found = work_mode_of(events, core, thread)
    # What slept at either look and never had its core slept in between, until it was woken.
    before = looks[0] if found is not None else looks[0] or looks[1]
    works = WorkMode(bool(before & ASLEEP), in_calls=False) if found is None else mode or found
    sleeps, in_calls = works.sleeps, works.in_calls
    watched = Watched(core, thread, sleeps=sleeps, before=before, calls_are_work=sleeps or in_calls)
    traced = Traced(events, notes, senders, calibration, options.is_guest)
    verdicts = judge_stalls(watched, traced)
    taker = "firmware" if options.is_guest is False else "a hypervisor or firmware"
    words = [f"stalls from kernel events alone: what {taker} took is not seen"]
    if found is None and sleeps and not len(verdicts.spans):
        words.append("it slept all the time: nobody held it up")
    if in_calls:
        words.append(
            "it is in system calls most of the time: they count as its work, not as stalls"
        )
    name = Names(notes).thread(thread)
    source = Source(None, Recorded(None, events), notes, (verdicts,))
    return _without_packets(name, source, senders, calibration, options.n_worst, *words)


def explain_gaps(
    gaps: pa.Table,
    events: Events,
    core: int,
    notes: TraceNotes | None = None,
    log: str = "noise",
    options: Options = Options(),  # noqa: B008 - frozen
) -> Explanation:
    """Explain the gaps that a polling thread logged (taut-noise, taut-inject): no packets."""
    notes = notes or TraceNotes()
    senders = join_senders(events)
    spans = spans_of(gaps, log, core, events, window_ns=notes.window_ns)
    thread = options.device_thread
    if thread is None:
        thread = find_thread(events, core, spans.start_ns, spans.end_ns)
    watched = Watched(core, -1 if thread is None else thread)
    bounds = spans.start_ns, spans.end_ns
    segments = build_timeline(events, watched, bounds, Names(notes), senders)
    calibration = calibrate([(spans, segments)])
    shares = share_out(spans, segments, calibration)
    is_traced = len(events) > 0 and (notes.cores is None or core in notes.cores)
    facts = facts_of(events, notes, core, thread, options.is_guest, is_traced)
    verdicts = judge(spans, segments, shares, facts, mark(spans, events, notes))
    name = f"{log} on core {core}"
    source = Source(None, Recorded(None, events), notes, (verdicts,))
    return _without_packets(name, source, senders, calibration, options.n_worst)


def _without_packets(
    name: str,
    source: Source,
    senders: Senders,
    calibration: Calibration,
    n_worst: int,
    *words: str,
) -> Explanation:
    facts = source.verdicts[0].facts
    core = source.verdicts[0].spans.core
    return Explanation(
        name=name,
        over="",
        threshold_ns=None,
        p50_ns=None,
        n_packets=0,
        n_void=0,
        n_tail=0,
        causes=(),
        worst=(),
        gap_totals=gap_totals(source.verdicts, Names(source.notes)),
        worst_gaps=worst_gaps(source.verdicts, n_worst),
        calibration=calibration,
        calls=(senders.n_calls, senders.n_joined),
        counters={str(core): CountersMoved(facts.steal, facts.smi)},
        missing=source.notes.missing,
        notes=words,
        packets=None,
        episodes=None,
        source=source,
    )
