"""Conditions of a run, in words."""

import pytest

from made_documents import made_result
from taut.records.documents.manifest import Manifest, Tool
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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trace": {"mode": "tail"}}, "tail"),
        (
            {"trace": {"mode": "tail"}, "every_packet": False},
            "tail (slow packets alone are recorded: `taut explain` tells their causes)",
        ),
        ({"trace": {"mode": "off", "why_not": "not asked for"}}, "off: not asked for"),
        ({"trace": {"mode": "tail"}, "sent": None}, "tail"),
    ],
)
def test_why_the_report_explains_no_late_packets_is_told(changes, said):
    assert ("trace", said) in conditions_of(Manifest(), [made_result(**changes)])


def test_each_device_has_its_versions_but_not_what_is_told_elsewhere_or_by_nobody():
    manifest = Manifest(taut=Tool("0.1.0"))
    trials = [
        made_result(dut="ids", driver="suricata", dut_version="Suricata 7.0.10"),
        made_result(dut="ids", driver="suricata", dut_version="Suricata 8.0.1"),
        made_result(dut="eager", driver="taut_forward", dut_version="0.1.0"),
        made_result(dut="floor", driver="loopback", dut_version="0.0.9"),
        made_result(dut="old", driver="l2fwd"),
        made_result(dut="bridge", driver="linux_bridge", dut_version="Linux 6.1.0-44-amd64"),
        made_result(dut="vpp", driver="command", dut_version="unknown"),
        made_result(dut="ovs", driver="ovs_kernel", dut_version="Linux 6.1, Open vSwitch 3.1"),
    ]

    told = dict(conditions_of(manifest, trials))

    assert told["device ids"] == "Suricata 7.0.10; Suricata 8.0.1"
    assert told["device ovs"] == "Linux 6.1, Open vSwitch 3.1"
    assert [name for name in told if name.startswith("device ")] == ["device ids", "device ovs"]


def test_a_trial_that_failed_before_its_device_had_a_path_is_no_other_condition():
    whole = made_result(dut="eager", path="memif")
    failed = made_result(dut="eager", path="", status="failed", sent=None)

    assert ("path", "eager: memif") in conditions_of(Manifest(), [whole, failed])
