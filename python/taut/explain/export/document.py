"""An explanation as a document: what `taut explain --json` prints and a run stores."""

from dataclasses import replace

from taut.explain import causes
from taut.explain.grades import GRADES
from taut.explain.tell.by_percentile import by_percentile
from taut.explain.tell.predicted import Audit, predict, read_audit
from taut.explain.tell.result import CauseTotal, EpisodeStory, Explanation, GapStory, GapTotal
from taut.explain.walk.calibrate import Calibration
from taut.records.documents.explanation import (
    EXPLANATION_FORMAT,
    CalibrationDocument,
    CauseDocument,
    EntryCostDocument,
    EventLacking,
    ExplanationDocument,
    FunctionCalls,
    GapDocument,
    GapTotalDocument,
    Offender,
    OffenderDocument,
    ShareDocument,
    StoryDocument,
)

_SHARES = {
    "unknown": causes.UNKNOWN,
    "hypervisor_or_hardware": causes.HYPERVISOR_OR_HARDWARE,
    "trace_lost": causes.TRACE_LOST,
    "measurer": causes.MEASURER,
}


def kept_of(explanation: Explanation) -> ExplanationDocument:
    """Give what results.json keeps of a traced trial's explanation: what the report shows."""
    return replace(
        as_document(explanation),
        format=None,
        name=None,
        void_packets=None,
        gaps=None,
        worst_gaps=None,
        counters=None,
        grades=None,
    )


def as_document(explanation: Explanation) -> ExplanationDocument:
    """Give the document; every gap and packet stays in the tables."""
    e = explanation
    audit = read_audit(e.source.trial)
    return ExplanationDocument(
        format=EXPLANATION_FORMAT,
        name=e.name,
        over=e.over,
        threshold_ns=e.threshold_ns,
        p50_ns=e.p50_ns,
        base_ns=e.base_ns,
        packets=e.n_packets,
        void_packets=e.n_void,
        tail_packets=e.n_tail,
        above_packets=e.n_above if e.n_above > e.n_tail else None,
        shares={name: e.share_of(cause.id) for name, cause in _SHARES.items()},
        offenders=tuple(_offender(one, audit) for one in e.offenders),
        causes=tuple(_cause(total, audit) for total in e.causes),
        by_percentile=None if e.packets is None else by_percentile(e.packets, e.n_packets),
        worst=tuple(_episode(story, audit) for story in e.worst),
        vetoed=e.vetoed,
        gaps=tuple(_gap_total(total) for total in e.gap_totals),
        worst_gaps=tuple(_gap(story) for story in e.worst_gaps),
        calibration=_calibration(e.calibration),
        function_calls=FunctionCalls(*e.calls),
        counters=e.counters,
        kernel_lacks=tuple(EventLacking(event, costs) for event, costs in e.missing),
        notes=e.notes,
        grades=GRADES,
    )


def _offender(one: Offender, audit: Audit | None) -> OffenderDocument:
    return OffenderDocument(**vars(one), predicted=predict(one.cause, audit).document)


def _cause(total: CauseTotal, audit: Audit | None) -> CauseDocument:
    return CauseDocument(
        cause=total.cause,
        title=total.title,
        n_episodes=total.n_episodes,
        n_packets=total.n_packets,
        n_lost=total.n_lost,
        n_unsent=total.n_unsent,
        total_ns=total.total_ns,
        worst_ns=total.worst_ns,
        tail_share=total.tail_share,
        n_by_grade=total.n_by_grade,
        n_by_relation=total.n_by_relation,
        remedies=total.remedies,
        ask=total.ask,
        predicted=predict(total.cause, audit).document,
    )


def _episode(story: EpisodeStory, audit: Audit | None) -> StoryDocument:
    return StoryDocument(
        line=story.line,
        direction=story.direction,
        first_seq=story.first_seq,
        start_ns=story.start_ns,
        end_ns=story.end_ns,
        n_packets=story.n_packets,
        n_lost=story.n_lost,
        n_unsent=story.n_unsent,
        n_void=story.n_void,
        worst_excess_ns=story.worst_excess_ns,
        cause=story.cause,
        grade=story.grade,
        n_by_relation=story.n_by_relation,
        worst_seq=story.worst_seq,
        predicted=predict(story.cause, audit).document,
        missing=story.missing,
        gap=None if story.gap is None else _gap(story.gap),
    )


def _gap(story: GapStory) -> GapDocument:
    length_ns = story.end_ns - story.start_ns
    return GapDocument(
        thread=story.thread,
        core=story.core,
        start_ns=story.start_ns,
        end_ns=story.end_ns,
        length_ns=length_ns,
        cause=story.cause,
        grade=story.grade,
        detail=story.detail,
        shares=tuple(
            ShareDocument(share.label, share.ns, share.ns / max(length_ns, 1), share.detail)
            for share in story.shares
        ),
        missing=story.missing,
    )


def _gap_total(total: GapTotal) -> GapTotalDocument:
    return GapTotalDocument(
        thread=total.thread,
        cause=total.cause,
        n=total.n,
        total_ns=total.total_ns,
        worst_ns=total.worst_ns,
        by=total.by,
        n_guesses=total.n_guesses,
    )


def _calibration(calibration: Calibration) -> CalibrationDocument:
    watched_ns = calibration.watched_ns
    return CalibrationDocument(
        entry_and_exit={
            name: EntryCostDocument(cost.n, cost.median_ns, cost.p99_ns, cost.limit_ns)
            for name, cost in calibration.costs.items()
        },
        empty_gaps=calibration.empty_gaps,
        empty_ns=calibration.empty_ns,
        watched_ns=watched_ns,
        empty_gaps_per_second=1e9 * calibration.empty_gaps / watched_ns if watched_ns else 0.0,
    )
