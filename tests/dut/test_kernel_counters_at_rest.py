"""What the kernel says of itself while its counters are read is counted in both readings."""

import pytest

from taut.dut import kernel_counters
from taut.dut.kernel_counters import count_lost


def test_a_report_between_two_readings_is_nobody_s_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = 0

    def links(port: str, namespace: str) -> dict[str, int]:
        return {"rx_packets": 5, "tx_packets": 5 + reported, "tx_dropped": 0}

    def tables(namespace: str, read: object) -> dict[str, int]:
        nonlocal reported
        reported = 1  # before the tables, behind the first look at the links
        return {"Icmp6.OutMsgs": reported}

    monkeypatch.setattr(kernel_counters.netlink, "link_counters", links)
    monkeypatch.setattr(kernel_counters.netlink, "inside", tables)

    counted = count_lost("ns", ["port"])

    assert (counted["in"], counted["out"], counted["own"]) == (5, 6, 1)
    assert counted["dropped_by"]["other"] == counted["dropped"] == 0
