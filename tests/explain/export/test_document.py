"""What results.json keeps of an explanation: all that the report shows, and no more."""

import json

import pytest

from made_trace import FLUSH, MadeTrace, held, normal, write_trial
from taut.explain import Options, explain_trial
from taut.explain.export.document import kept_of
from taut.records.documents.explanation import Checked, FunctionCalls, Outcome
from taut.records.documents.json_form import plain

MS = 1_000_000


@pytest.fixture
def trial(tmp_path):
    """Thirty shootdowns, a millisecond apart, on a host whose audit failed A05."""
    rows, trace, gaps = normal(4_000), MadeTrace(), []
    for start in range(10 * MS, 40 * MS, MS):
        end = start + 60_000 + start // 10_000  # none as long as another
        rows = held(rows, start, end)
        trace.call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
        gaps.append((start, end, "forwarder"))
    trial = write_trial(tmp_path, rows, gaps, trace)
    manifest = tmp_path / "manifest.json"
    row = {"id": "A05", "title": "automatic NUMA balancing", "state": "FAIL"}
    audited = {**json.loads(manifest.read_text()), "audit": {"checks": [row]}}
    manifest.write_text(json.dumps(audited))
    return trial


def test_the_worst_episodes_keep_the_shares_of_their_gap(trial):
    kept = kept_of(explain_trial(trial, Options(n_worst=10)))

    assert len(kept.worst) == kept.tail_packets >= 3
    for story in kept.worst:
        gap = story.gap
        assert (story.cause, gap.cause) == ("tlb-shootdown", "tlb-shootdown")
        assert sum(share.ns for share in gap.shares) == gap.length_ns
        assert sum(share.share for share in gap.shares) == pytest.approx(1)
        assert "telemetry" in gap.detail


def test_causes_and_episodes_say_what_the_audit_said(trial):
    kept = kept_of(explain_trial(trial, Options(n_worst=10)))

    for of in [*kept.causes, *kept.worst]:
        assert of.predicted.prediction is Outcome.PREDICTED
        assert of.predicted.prediction_words == "the audit predicted this: A05 FAIL"
        assert of.predicted.checks[0] == Checked("A05", "automatic NUMA balancing", "FAIL")
    assert kept.causes[0].remedies[0] == "A05"


def test_calls_and_the_tail_by_percentile_are_kept_and_stay_small(trial):
    kept = kept_of(explain_trial(trial, Options(n_worst=10)))

    assert kept.function_calls == FunctionCalls(n=30, sender_known=30)
    assert kept.base_ns == kept.p50_ns
    assert sum(b.packets for b in kept.by_percentile.bins) == kept.tail_packets
    assert len(json.dumps(plain(kept))) < 30_000
