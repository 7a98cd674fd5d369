"""The stalls of any polling process, from the kernel's events of its core alone."""

from taut.analysis.explain.calibrate import Calibration
from taut.analysis.explain.events import Events, TraceNotes
from taut.analysis.explain.facts import facts_of
from taut.analysis.explain.judge import GapVerdicts, judge, mark
from taut.analysis.explain.naming import Names
from taut.analysis.explain.result import Explanation, Options
from taut.analysis.explain.senders import Senders, join_senders
from taut.analysis.explain.shares import share_out
from taut.analysis.explain.stalls import find_stalls
from taut.analysis.explain.verdicts import gap_table, gap_totals, worst_gaps


def explain_events(
    events: Events,
    core: int,
    thread: int,
    notes: TraceNotes | None = None,
    calibration: Calibration | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Explanation:
    """Explain when a thread did not have its core; it keeps no log, so empty gaps are not seen."""
    notes = notes or TraceNotes()
    senders = join_senders(events)
    calibration = calibration or Calibration()
    verdicts = judge_stalls(events, core, thread, notes, senders, calibration, options.is_guest)
    return Explanation(
        name=Names(notes).thread(thread),
        over=options.over,
        threshold_ns=None,
        p50_ns=None,
        n_packets=0,
        n_tail=0,
        causes=(),
        worst=(),
        gap_totals=gap_totals([verdicts]),
        worst_gaps=worst_gaps([verdicts], options.n_worst),
        calibration=calibration,
        calls=(senders.n_calls, senders.n_joined),
        counters={str(core): {"steal": verdicts.facts.steal, "smi": verdicts.facts.smi}},
        missing=notes.missing,
        notes=("stalls from kernel events alone: what a hypervisor or firmware took is not seen",),
        gaps=gap_table([verdicts]),
        packets=None,
        episodes=None,
    )


def judge_stalls(
    events: Events,
    core: int,
    thread: int,
    notes: TraceNotes,
    senders: Senders,
    calibration: Calibration,
    is_guest: bool | None,
) -> GapVerdicts:
    """Find and judge the stalls of a thread without a log of gaps."""
    stalls = find_stalls(events, core, thread, Names(notes), senders, calibration)
    shares = share_out(stalls.spans, stalls.segments, calibration)
    facts = facts_of(notes, core, thread, is_guest, is_traced=True)
    marks = mark(stalls.spans, events)
    return judge(stalls.spans, stalls.segments, shares, facts, marks)
