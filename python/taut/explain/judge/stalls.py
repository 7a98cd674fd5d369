"""Verdicts of stalls that only the kernel's events show: their thread keeps no log of gaps."""

from taut.explain.judge.shares import share_out
from taut.explain.judge.verdicts import GapVerdicts, judge, mark
from taut.explain.read.events import Events, TraceNotes
from taut.explain.read.facts import facts_of
from taut.explain.read.names import Names
from taut.explain.read.senders import Senders
from taut.explain.walk.calibrate import Calibration
from taut.explain.walk.contexts import Watched
from taut.explain.walk.stalls import Stalls, find_stalls


def judge_stalls(
    events: Events,
    watched: Watched,
    notes: TraceNotes,
    senders: Senders,
    calibration: Calibration,
    is_guest: bool | None,
) -> GapVerdicts:
    """Find and judge the stalls of a thread without a log of gaps."""
    stalls = find_stalls(events, watched, Names(notes), senders, calibration)
    return judge_found(stalls, watched, events, notes, calibration, is_guest)


def judge_found(
    stalls: Stalls,
    watched: Watched,
    events: Events,
    notes: TraceNotes,
    calibration: Calibration,
    is_guest: bool | None,
) -> GapVerdicts:
    """Judge stalls that come from the kernel's events alone."""
    shares = share_out(stalls.spans, stalls.segments, calibration)
    facts = facts_of(events, notes, watched.core, watched.thread, is_guest, is_traced=True)
    marks = mark(stalls.spans, events, notes)
    return judge(stalls.spans, stalls.segments, shares, facts, marks)
