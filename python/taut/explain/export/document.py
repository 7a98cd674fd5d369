"""An explanation as JSON: what `taut explain --json` prints and a run stores."""

from dataclasses import asdict
from typing import Any

from taut.explain import causes
from taut.explain.grades import GRADES
from taut.explain.tell.by_percentile import by_percentile
from taut.explain.tell.offenders import offender_json
from taut.explain.tell.predicted import Audit, predict, read_audit
from taut.explain.tell.result import CauseTotal, EpisodeStory, Explanation, GapStory
from taut.explain.walk.calibrate import Calibration

FORMAT = 1
_KEPT = (
    "over",
    "threshold_ns",
    "p50_ns",
    "packets",
    "tail_packets",
    "offenders",
    "causes",
    "by_percentile",
    "worst",
    "vetoed",
    "calibration",
    "function_calls",
    "kernel_lacks",
    "notes",
)


def kept_of(explanation: Explanation) -> dict[str, Any]:
    """Give what results.json keeps of a traced trial's explanation: what the report shows."""
    document = as_document(explanation)
    shares = [name for name in document if name.endswith("_share")]
    return {name: document[name] for name in (*_KEPT, *shares)}


def as_document(explanation: Explanation) -> dict[str, Any]:
    """Give the JSON document; every gap and packet stays in the tables."""
    e = explanation
    n_calls, n_joined = e.calls
    audit = read_audit(e.source.trial)
    return {
        "format": FORMAT,
        "name": e.name,
        "over": e.over,
        "threshold_ns": e.threshold_ns,
        "p50_ns": e.p50_ns,
        "packets": e.n_packets,
        "void_packets": e.n_void,
        "tail_packets": e.n_tail,
        "unknown_share": e.share_of(causes.UNKNOWN.id),
        "hypervisor_or_hardware_share": e.share_of(causes.HYPERVISOR_OR_HARDWARE.id),
        "trace_lost_share": e.share_of(causes.TRACE_LOST.id),
        "measurer_share": e.share_of(causes.MEASURER.id),
        "offenders": [
            {**offender_json(one), **predict(one.cause, audit).as_json()} for one in e.offenders
        ],
        "causes": [_cause(total, audit) for total in e.causes],
        "by_percentile": (None if e.packets is None else by_percentile(e.packets, e.n_packets)),
        "worst": [_episode(story, audit) for story in e.worst],
        "vetoed": asdict(e.vetoed),
        "gaps": [asdict(total) for total in e.gap_totals],
        "worst_gaps": [_gap(story) for story in e.worst_gaps],
        "calibration": _calibration(e.calibration),
        "function_calls": {"n": n_calls, "sender_known": n_joined},
        "counters": e.counters,
        "kernel_lacks": [{"event": event, "costs": costs} for event, costs in e.missing],
        "notes": list(e.notes),
        "grades": GRADES,
    }


def _cause(total: CauseTotal, audit: Audit | None) -> dict[str, Any]:
    return {**asdict(total), **predict(total.cause, audit).as_json()}


def _episode(story: EpisodeStory, audit: Audit | None) -> dict[str, Any]:
    return {
        **{k: v for k, v in vars(story).items() if k not in ("gap", "missing")},
        **predict(story.cause, audit).as_json(),
        "missing": list(story.missing),
        "gap": None if story.gap is None else _gap(story.gap),
    }


def _gap(story: GapStory) -> dict[str, Any]:
    length = max(story.end_ns - story.start_ns, 1)
    return {
        **{k: v for k, v in vars(story).items() if k not in ("shares", "missing")},
        "length_ns": story.end_ns - story.start_ns,
        "shares": [{**asdict(s), "share": s.ns / length} for s in story.shares],
        "missing": list(story.missing),
    }


def _calibration(calibration: Calibration) -> dict[str, Any]:
    watched_ns = calibration.watched_ns
    return {
        "entry_and_exit": {
            name: {**asdict(cost), "limit_ns": cost.limit_ns}
            for name, cost in calibration.costs.items()
        },
        "empty_gaps": calibration.empty_gaps,
        "empty_ns": calibration.empty_ns,
        "watched_ns": watched_ns,
        "empty_gaps_per_second": 1e9 * calibration.empty_gaps / watched_ns if watched_ns else 0.0,
    }
