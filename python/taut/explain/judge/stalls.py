"""Verdicts of stalls that only the kernel's events show: their thread keeps no log of gaps."""

from taut.explain.judge.shares import share_out
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import GapVerdicts, judge, mark
from taut.explain.read.facts import facts_of, together
from taut.explain.read.names import Names
from taut.explain.walk.contexts import Watched
from taut.explain.walk.stalls import Stalls, find_stalls


def judge_stalls(watched: Watched, traced: Traced) -> GapVerdicts:
    """Find and judge the stalls of a thread without a log of gaps."""
    names = Names(traced.notes)
    stalls = find_stalls(traced.events, watched, names, traced.senders, traced.calibration)
    return judge_found(stalls, watched, traced)


def judge_found(stalls: Stalls, watched: Watched, traced: Traced) -> GapVerdicts:
    """Judge stalls that come from the kernel's events alone."""
    events, notes = traced.events, traced.notes
    shares = share_out(stalls.spans, stalls.segments, traced.calibration)
    facts = together(
        facts_of(events, notes, watched.core, thread, traced.is_guest, is_traced=True)
        for thread in (watched.thread, *sorted(watched.also))
    )
    marks = mark(stalls.spans, events, notes)
    return judge(stalls.spans, stalls.segments, shares, facts, marks)
