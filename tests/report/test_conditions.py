"""Conditions of a run, in words."""

import pytest

from made_documents import made_result
from taut.records.documents.manifest import Manifest
from taut.report.conditions import conditions_of


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frame": "64", "flows": 1}, "constant, 64 B, 1 flow, 2 s a trial"),
        ({"frame": "imix", "flows": 5}, "constant, imix, 5 flows, 2 s a trial"),
    ],
)
def test_traffic_is_told_in_words(changes, said):
    trial = made_result(**changes, duration_ns=2_000_000_000)

    assert ("traffic", said) in conditions_of(Manifest(), [trial])


def test_a_trial_that_failed_before_its_device_had_a_path_is_no_other_condition():
    whole = made_result(dut="eager", path="memif")
    failed = made_result(dut="eager", path="", status="failed", sent=None)

    assert ("path", "eager: memif") in conditions_of(Manifest(), [whole, failed])
