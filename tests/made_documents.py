"""Made-up documents for tests: whole ones, of which a test says what it is about.

What is given stands among the keys of the JSON document and replaces them, one level deep.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from taut.records.documents.explanation import ExplanationDocument
from taut.records.documents.json_form import parse
from taut.records.documents.results import Analysis, TrialResult, Variant
from taut.records.documents.search import (
    Bound,
    Closing,
    Goal,
    GoalFound,
    LatencyAt,
    SearchDocument,
    SearchOfDevice,
    Step,
)

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999")

FIGURES: Mapping[str, Any] = {
    "n": 10_000,
    "n_eff": None,
    "min": 900,
    "mean": 1_100.0,
    "stdev": 50.0,
    **dict.fromkeys(PERCENTILES, 1_000),
    "max": 9_000,
}
NOTHING: Mapping[str, Any] = {
    "n": 0,
    "min": None,
    "mean": None,
    "stdev": None,
    **dict.fromkeys(PERCENTILES),
    "max": None,
}
_COUNTERS = ("due", "sent", "unsent", "received", "matched", "lost", "late", "duplicates")
_COUNTS = {
    **dict.fromkeys((*_COUNTERS, "orphans", "out_of_sequence", "void"), 0),
    **dict.fromkeys(("due", "sent", "received", "matched"), 10_000),
}
_PACKETS = {
    "due": 10_000,
    "sent": 10_000,
    "unsent": 0,
    "matched": 10_000,
    "lost": 0,
    "void": 0,
}
_DOUBT = {
    "unsupported_percentiles": [],
    "n_above": dict.fromkeys(PERCENTILES, 100),
    "confidence_intervals": {name: [900, 1_100] for name in PERCENTILES},
    "blocks": None,
}
_LOAD = {
    "traffic": "constant",
    "schedule": "constant",
    "schedule_options": {},
    "frame": "64",
    "flows": 1,
    "both": False,
    "asked_pps": 100_000.0,
}
_DEVICE = {
    "dut": "eager",
    "driver": "taut_forward",
    "link": "memif",
    "placement": "bare",
    "host": "as found",
    "path": "made up",
}
_MEASURED = {
    **_COUNTS,
    "offered_pps": 100_000.0,
    "achieved_pps": 100_000.0,
    "sums_reconcile": True,
    "loss_ratio": 0.0,
    "loss_ratio_at_most": None,
    "void_share": 0.0,
    "instrument_limited": False,
    "rate_ok": True,
    "granted_ns": None,
    "unsupported_percentiles_without_void": [],
    **_DOUBT,
    "latency_ns": FIGURES,
    "latency_without_void_ns": FIGURES,
}
_VARIANT = {
    **_DEVICE,
    **_LOAD,
    **_MEASURED,
    "is_floor": False,
    "trials": [],
    "warm_up": {**_PACKETS, **_DOUBT, "loss_ratio_at_most": None, "latency_ns": NOTHING},
    "p50_of_repetitions": [],
    "two_bands": False,
    "floor_ns": None,
}
_TRIAL = {
    "name": "001-eager-r1",
    "index": 1,
    "repetition": 1,
    "status": "whole",
    "failure": None,
    **_DEVICE,
    **_LOAD,
    **_MEASURED,
    "notes": [],
    "duration_ns": 1_000_000_000,
    "cores": None,
    "trace": None,
    "sums_failures": [],
    "warm": _PACKETS,
    "cold": _PACKETS,
    "every_packet": True,
    "resolution": "exact: every packet",
    "cold_metrics": {},
    "episodes": None,
    "warnings": [],
}
_EXPLANATION = {
    "over": "p99.9",
    "threshold_ns": 12_000,
    "tail_packets": 40,
    "causes": [],
    "worst": [],
}


def made_variant(**changes: Any) -> Variant:
    """A row of a run's table."""
    return parse(Variant, _with(_VARIANT, changes), "made variant")


def made_result(**changes: Any) -> TrialResult:
    """A trial's entry of results.json; `sent=None` makes one without figures."""
    return parse(TrialResult, _with(_TRIAL, changes), "made result")


def made_explanation(**changes: Any) -> ExplanationDocument:
    """Why the packets of a trial were late."""
    return parse(ExplanationDocument, _with(_EXPLANATION, changes), "made explanation")


def made_analysis(
    trials: tuple[TrialResult, ...] = (), variants: tuple[Variant, ...] = ()
) -> Analysis:
    threshold = {"factor_of_p50": 10, "least_above_p50_ns": 20_000}
    document = {
        "verdict": "Made up.",
        "variants": variants,
        "trials": trials,
        "episode_threshold": threshold,
        "definitions": {},
        "n_failed": sum(not trial.is_whole for trial in trials),
    }
    return parse(Analysis, document, "made analysis")


def _with(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace keys; in an object that both have, only those that are given."""
    found = dict(whole)
    for name, value in changes.items():
        is_object = isinstance(value, Mapping) and isinstance(found.get(name), Mapping)
        found[name] = {**found[name], **value} if is_object else value
    return found


def made_search(latency_of: tuple[str, ...] = (), **changes: Any) -> SearchOfDevice:
    """A search that found ndr and, above it, no end of pdr."""
    step = Step(("000-eager-r1",), 2e6, 10**9, 2_000_000, 2_000_000, 1_000_000, 0.5, False)
    bounds = (Closing("ndr", None, 2e6), Closing("pdr", None, 2e6))
    closer = (Closing("ndr", 9e5, 1e6), Closing("pdr", 1e6, None))
    document = {
        "device": "eager",
        "driver": "taut_forward",
        "link": "memif",
        "traffic": "constant",
        "frame": "64",
        "both": False,
        "is_instrument": False,
        "min_pps": 1e3,
        "max_pps": 2e6,
        "is_max_the_instruments": True,
        "found": (
            GoalFound("ndr", Bound(9e5, 21 * 10**9, 0), Bound(1e6, 0, 10**9), 9e5, None),
            GoalFound("pdr", Bound(1e6, 21 * 10**9, 0), None, 997_000.0, "instrument limited"),
        ),
        "steps": (
            replace(step, bounds=bounds),
            replace(step, trials=("001-eager-r1", "002-eager-r2"), load_pps=9e5, bounds=closer),
            replace(step, load_pps=1.5e6, instrument_limited=True, bounds=closer),
            replace(step, load_pps=1e6, lost=0, loss_ratio=0.0, bounds=closer),
        ),
        "latency": (LatencyAt(0.5, "ndr", 1e5, latency_of, 1_000, 2_000, 3_000, 4_000),),
    }
    return SearchOfDevice(**{**document, **changes})


def made_search_document(*searches: SearchOfDevice) -> SearchDocument:
    """What `taut search` leaves; two goals, of which one is of time."""
    goal = Goal("ndr", 0.0, 0.5, 0.005, 10**9, 10**9, 21 * 10**9, 2, 2)
    return SearchDocument(
        goals=(goal, replace(goal, name="pdr", loss_ratio=0.005, within_ns=10**6)),
        searches=searches or (made_search(),),
        method="MLRsearch 1.2.1 (RFC 9971)",
        took_s=12.0,
    )
