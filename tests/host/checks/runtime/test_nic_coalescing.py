from dataclasses import replace
from pathlib import Path

from host_commands import CommandWriter
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.nic_coalescing import CHECK
from taut.host.host import Host
from taut.host.situation import Role

NIC = {
    "/sys/class/net/eth0/device/vendor": "0x8086\n",
    "/commands/ethtool --version": "ethtool version 6.1\n",
}
COALESCE = "/commands/ethtool -c eth0"
EEE = "/commands/ethtool --show-eee eth0"


def coalescing(adaptive: str, usecs: str) -> dict[str, str]:
    lines = f"Coalesce parameters for eth0:\nAdaptive RX: {adaptive}  TX: off\nrx-usecs: {usecs}\n"
    return NIC | {COALESCE: lines}


def eee(status: str) -> dict[str, str]:
    return NIC | {EEE: f"EEE settings for eth0:\n\tEEE status: {status}\n\tTx LPI: 17 (us)\n"}


def test_a_short_fixed_timeout_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, coalescing("off", "3") | eee("disabled"))

    assert finding.state is State.PASS
    assert "rx-usecs 3" in finding.observed


def test_what_holds_packets_back_is_switched_off(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, coalescing("on", "50") | eee("enabled - active"))
    assert finding.state is State.FAIL
    assert "adaptive-rx on, rx-usecs 50, eee on" in finding.observed

    with remedied(CHECK, tmp_path, writer=CommandWriter(Host(tmp_path))) as remedies:
        names = [(change.setting.name, change.wanted) for change in remedies[0].changes]
        assert names == [
            ("eth0: coalesce adaptive-rx", "off"),
            ("eth0: eee eee", "off"),
            ("eth0: coalesce rx-usecs", "0"),
        ]


def test_a_driver_that_only_has_a_timeout_is_judged_by_it(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, coalescing("n/a", "11") | eee("not supported"))

    assert finding.state is State.FAIL
    assert "adaptive-rx" not in finding.observed


def test_flow_control_is_shown_and_not_judged(tmp_path: Path) -> None:
    pause = {"/commands/ethtool -a eth0": "Pause parameters for eth0:\nRX: on\nTX: off\n"}

    finding = judge(CHECK, tmp_path, coalescing("off", "0") | pause)

    assert finding.state is State.PASS
    assert "pause-rx on" in finding.observed


def test_without_ethtool_nobody_knows(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {"/sys/class/net/eth0/device/vendor": "0x8086\n"})

    assert finding.state is State.UNKNOWN
    assert "ethtool" in finding.needs


def test_a_driver_without_any_of_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NIC).state is State.NOT_APPLICABLE


def test_what_ethtool_prints_may_be_anything(tmp_path: Path) -> None:
    files = NIC | {COALESCE: "\x00\x80 :: rx-usecs\nAdaptive RX:", EEE: "EEE status: perhaps\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_only_interfaces_that_carry_the_traffic_count(tmp_path: Path) -> None:
    files = coalescing("on", "50") | {"/sys/class/net/eth1/device/vendor": "0x8086\n"}

    finding = judge(CHECK, tmp_path, files, replace(POLL, interfaces=("eth1",)))

    assert finding.state is State.NOT_APPLICABLE


def test_a_machine_without_interfaces_has_nothing_to_judge(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {"/sys/class/net/lo/address": "0\n"})

    assert finding.state is State.NOT_APPLICABLE


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    finding = judge(CHECK, tmp_path, coalescing("on", "50"), housekeeping)

    assert finding.state is State.NOT_APPLICABLE
