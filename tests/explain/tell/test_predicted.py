import json

import pytest

from taut.explain.causes import BY_ID, CAUSES
from taut.explain.tell.predicted import predict, read_audit
from taut.records.documents.audit import CheckDocument
from taut.records.documents.explanation import Checked, Outcome
from taut.records.documents.json_form import plain

PREEMPTION = BY_ID["preemption"].remedies
FIRST, SECOND = PREEMPTION[:2]


def audit(**states):
    return {check: CheckDocument(check, f"about {check}", s) for check, s in states.items()}


def test_a_check_that_fails_predicted_the_cause():
    found = predict("preemption", audit(**{FIRST: "PASS", SECOND: "FAIL"}))

    assert found.outcome is Outcome.PREDICTED
    assert found.words == f"the audit predicted this: {SECOND} FAIL"
    # What to mend comes first.
    assert [str(c) for c in found.most_telling[:2]] == [f"{SECOND} FAIL", f"{FIRST} PASS"]
    assert found.document.checks[0] == Checked(FIRST, f"about {FIRST}", "PASS")


def test_a_cause_although_every_check_passes_was_not_predicted():
    found = predict("preemption", audit(**dict.fromkeys(PREEMPTION, "PASS")))

    assert found.outcome is Outcome.NOT_PREDICTED
    assert found.words == "not predicted: all checks that apply pass"


def test_a_check_nobody_could_make_leaves_it_open():
    found = predict("preemption", audit(**{FIRST: "PASS", SECOND: "UNKNOWN"}))

    assert found.outcome is Outcome.NOT_KNOWN
    assert found.words == f"the audit could not tell: {SECOND} unknown"


def test_throttling_of_real_time_threads_is_named_where_it_shows():
    """Whom it holds off is preempted by what runs meanwhile; no control group's time moves."""
    found = predict("preemption", audit(R09="FAIL"))

    assert found.words == "the audit predicted this: R09 FAIL"
    assert BY_ID["throttled"].remedies == ("A09",)


def test_where_no_check_applies_it_was_not_predicted():
    found = predict("preemption", audit(**dict.fromkeys(PREEMPTION, "NOT_APPLICABLE")))

    assert found.words == "not predicted: no check applies here"
    assert str(found.checks[0]) == f"{FIRST} n/a"


@pytest.mark.parametrize("known", [None, {}], ids=["no audit", "an audit of other checks"])
def test_without_an_audit_the_ids_stand_alone(known):
    found = predict("preemption", known)

    assert (found.outcome, found.words) == (None, "")
    assert [str(c) for c in found.checks] == list(PREEMPTION)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_every_cause_can_be_asked_and_written(cause):
    found = predict(cause.id, audit(**dict.fromkeys(cause.remedies, "FAIL")))

    assert (found.outcome is Outcome.PREDICTED) == bool(cause.remedies)
    assert json.loads(json.dumps(plain(found.document)))["prediction"] == found.outcome


def test_the_audit_is_read_from_the_run_of_the_trial(tmp_path):
    trial = tmp_path / "run" / "trials" / "000"
    trial.mkdir(parents=True)
    manifest = tmp_path / "run" / "manifest.json"

    assert read_audit(trial) is None
    assert read_audit(None) is None
    manifest.write_text("{}")
    assert read_audit(trial) is None
    row = {"id": "A05", "title": "x", "state": "FAIL"}
    manifest.write_text(json.dumps({"audit": {"checks": [row]}}))
    assert read_audit(trial) == {"A05": CheckDocument(**row)}
