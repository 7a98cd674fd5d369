"""What a device is, by the trial.json of today and of before it told the device's threads."""

import json

import pytest

from taut.explain.judge.device import SWITCH, Kind, Logged, hides_stalls, kind_of, lacks
from taut.records.documents.json_form import parse, plain
from taut.records.documents.trial import Dut, DutStats, Holds, Hop, PortCounters


@pytest.mark.parametrize(
    ("dut", "kind"),
    [
        ({"driver": "loopback", "threads": []}, Kind.NONE),
        ({"driver": "made_of_softirqs", "threads": []}, Kind.KERNEL),
        ({"driver": "linux_bridge", "threads": None}, Kind.KERNEL),
        ({"driver": "linux_bridge"}, Kind.KERNEL),
        ({"driver": "testpmd", "threads": [7]}, Kind.PROGRAM),
        ({"driver": "testpmd"}, Kind.PROGRAM),
    ],
)
def test_a_device_without_a_process_is_the_kernel(dut: dict[str, object], kind: Kind) -> None:
    assert kind_of(parse(Dut, dut, "made"), keeps_log=False) is kind


def test_what_a_device_said_is_the_same_after_it_was_written_and_read() -> None:
    ports = (PortCounters(rx=3, others={"tx": 2}), PortCounters(others={"rx_packets": 5}))
    dut = Dut(threads=(), stats=DutStats("buffered", Holds(8), ports=ports))

    written = json.loads(json.dumps(plain(dut)))

    assert written["threads"] == []
    assert written["stats"]["ports"] == [{"rx": 3, "tx": 2}, {"rx_packets": 5}]
    assert parse(Dut, written, "made") == dut


@pytest.mark.parametrize(
    ("options", "hops", "hides", "lacking"),
    [
        ({}, None, False, ""),
        ({}, (Hop("hop1", 1), Hop("hop2", 2)), False, ""),
        # Open vSwitch between the hops has a core of its own, and no log.
        ({"switch": "ovs_dpdk"}, (Hop("hop1", 1), Hop("hop2", 2)), True, SWITCH),
        ({"switch": None}, (Hop("hop1", 1), Hop("hop2", 2)), False, ""),
    ],
)
def test_a_chain_hides_what_its_switch_does(options, hops, hides, lacking) -> None:
    dut = Dut(driver="chain", options=options, hops=hops)

    assert hides_stalls(Kind.LOGGED, dut, Logged()) is hides
    assert lacks(Kind.LOGGED, dut, Logged(), 0, 9) == lacking
    assert hides_stalls(Kind.PROGRAM, dut, Logged())
