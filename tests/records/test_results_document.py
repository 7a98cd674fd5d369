"""results.json: what a run left, of this taut and of the one before it had a format."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from made_documents import made_analysis, made_result, made_variant
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.records.documents.json_form import plain, plain_object
from taut.records.documents.results import Results, read_analysis_files, summary_document

OLD = Path(__file__).parents[1] / "data" / "run_of_format_1"


def known(value: Any) -> Any:
    """A document without the keys that have nothing to say."""
    if isinstance(value, dict):
        return {name: known(inner) for name, inner in value.items() if inner is not None}
    return [known(inner) for inner in value] if isinstance(value, list | tuple) else value


def test_a_run_of_before_there_was_a_format_is_read_to_the_last_number() -> None:
    analysis = read_analysis_files(OLD)

    trials = [plain_object(trial) for trial in analysis.trials]
    assert known(trials) == known(json.loads((OLD / "results.json").read_text()))
    assert known(summary_document(analysis)) == known(
        json.loads((OLD / "summary.json").read_text())
    )
    traced, failed = analysis.trials
    assert traced.explanation is not None
    assert traced.explanation.causes[0].cause == "preemption"
    assert failed.figures is None
    assert failed.failure is not None
    assert failed.failure.log_tail == ("oops",)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    analysis = made_analysis((made_result(), made_result(status="failed")), (made_variant(),))
    write_json(tmp_path / "results.json", plain(Results(analysis.trials)))
    write_json(tmp_path / "summary.json", summary_document(analysis))

    assert read_analysis_files(tmp_path) == analysis
    assert json.loads((tmp_path / "results.json").read_text())["format"] == 2


def test_a_trial_that_failed_has_the_promised_keys_with_nothing_in_them() -> None:
    document = plain_object(made_result(status="failed", sent=None))

    nothing = ("sent", "lost", "achieved_pps", "latency_ns", "jitter_ns", "warm")
    assert [document[name] for name in nothing] == [None] * len(nothing)
    assert document["offered_pps"] == 100_000.0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("sent", "many", "trials.0.sent: a number expected, text found"),
        ("latency_ns", 7, "trials.0.latency_ns: an object expected, a number found"),
        ("warnings", {}, "trials.0.warnings: a list expected, an object found"),
    ],
)
def test_a_damaged_value_is_told_by_its_path(
    key: str, value: object, said: str, tmp_path: Path
) -> None:
    shutil.copytree(OLD, tmp_path / "run")
    results = json.loads((OLD / "results.json").read_text())
    results[0][key] = value
    (tmp_path / "run" / "results.json").write_text(json.dumps(results))

    with pytest.raises(InputError) as caught:
        read_analysis_files(tmp_path / "run")

    assert said in str(caught.value)
    assert "results.json" in str(caught.value)
