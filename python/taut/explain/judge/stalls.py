"""Verdicts of stalls that only the kernel's events show: their thread keeps no log of gaps."""

from taut.explain import causes
from taut.explain.causes import NUMBER
from taut.explain.judge.shares import share_out
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import GapVerdicts, doubted, judge, mark
from taut.explain.read.facts import facts_of, together
from taut.explain.read.names import Names
from taut.explain.read.passages import Passages
from taut.explain.read.senders import join_senders
from taut.explain.walk.calibrate import usual_ns
from taut.explain.walk.contexts import Watched
from taut.explain.walk.layers import with_called_wake_ups, with_unseen_switches
from taut.explain.walk.stalls import Stalls, find_stalls


def judge_stalls(watched: Watched, traced: Traced) -> GapVerdicts:
    """Find and judge the stalls of a thread without a log of gaps."""
    return judge_found(stalls_of(watched, traced), watched, traced)


def stalls_of(watched: Watched, traced: Traced, passages: Passages | None = None) -> Stalls:
    """Find the stalls of threads, and let no packet be in one where those that passed are known.

    What the core of threads that sleep does while it leaves idle is recorded late or not at all.
    """
    names, events, senders = Names(traced.notes), traced.events, traced.senders
    if watched.sleeps:
        events = with_unseen_switches(events, watched.core, watched.threads)
        events = with_called_wake_ups(events, watched.core, names, watched.threads)
    if events is not traced.events:
        senders = join_senders(events)
    return find_stalls(events, watched, names, senders, traced.calibration, passages)


def judge_found(stalls: Stalls, watched: Watched, traced: Traced) -> GapVerdicts:
    """Judge stalls that come from the kernel's events alone."""
    events, notes = traced.events, traced.notes
    shares = share_out(stalls.spans, stalls.segments, traced.calibration)
    facts = together(
        facts_of(events, notes, watched.core, thread, traced.is_guest, is_traced=True)
        for thread in (watched.thread, *sorted(watched.also))
    )
    marks = mark(stalls.spans, events, notes)
    verdicts = judge(stalls.spans, stalls.segments, shares, facts, marks)
    took_ns = stalls.spans.length_ns
    return doubted(verdicts, took_ns, usual_ns(took_ns[verdicts.cause == NUMBER[causes.IDLE_EXIT]]))
