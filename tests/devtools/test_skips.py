"""Continuous integration fails where a test is skipped for anything but a missing component."""

import pytest

from skips import fail_unless_allowed, lacks, read_allowed


@pytest.mark.parametrize(
    ("reason", "component"),
    [
        ("Skipped: java without a compiler", "a Java compiler"),
        ("taut-trace: tracefs may not be mounted here; run as root", "a kernel that can be traced"),
        ("needs two cores", "a second core"),
        ("too noisy: 3 felt, load 12", None),
        ("too busy a machine: 900 iterations in a second", None),
        ("needs root", None),
        ("this machine has a journal: taut host undo", None),
    ],
)
def test_a_skip_is_for_a_component_of_the_list_or_for_none(
    reason: str, component: str | None
) -> None:
    assert lacks(reason, read_allowed()) == component


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("Skipped: too noisy: 3 felt", "failed"), ("Skipped: java without a compiler", "skipped")],
)
def test_any_other_skip_is_a_failure(reason: str, outcome: str) -> None:
    place = ("tests/test_x.py", 1, "test_x")
    report = pytest.TestReport("test_x", place, {}, "skipped", ("x.py", 1, reason), "call")

    fail_unless_allowed(report)

    assert report.outcome == outcome
    assert reason in str(report.longrepr)
