from dataclasses import replace
from pathlib import Path

from host_commands import CommandWriter
from host_tree import POLL, SLEEP, judge, remedied
from taut.host.check import Profile, State
from taut.host.checks.runtime.nic_queues import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CHANNELS = """\
Channel parameters for eth0:
Pre-set maximums:
RX:\t\tn/a
Combined:\t64
Current hardware settings:
RX:\t\tn/a
Combined:\t4
"""


def nic(n_queues: int, name: str = "eth0") -> dict[str, str]:
    queues = {f"/sys/class/net/{name}/queues/rx-{n}/rps_cpus": "0\n" for n in range(n_queues)}
    return {f"/sys/class/net/{name}/device/vendor": "0x8086\n"} | queues


def test_as_many_queues_as_housekeeping_cores_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, nic(2)).state is State.PASS


def test_more_are_reduced(tmp_path: Path) -> None:
    files = nic(4) | {"/commands/ethtool -l eth0": CHANNELS}
    finding = judge(CHECK, tmp_path, files)
    assert finding.state is State.FAIL
    assert "eth0: 4 receive queues" in finding.observed
    assert "at most 2" in finding.wanted

    with remedied(CHECK, tmp_path, writer=CommandWriter(Host(tmp_path))) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["2"]
        assert remedies[0].profile is Profile.EXTREME


def test_a_driver_that_cannot_is_left_to_the_user(tmp_path: Path) -> None:
    judge(CHECK, tmp_path, nic(4))

    (remedy,) = CHECK.propose(Host(tmp_path), POLL)

    assert remedy.by_hand == "ethtool -L INTERFACE combined 2, where the driver can"


def test_what_ethtool_prints_may_be_anything(tmp_path: Path) -> None:
    judge(CHECK, tmp_path, nic(4) | {"/commands/ethtool -l eth0": "\x00 netlink error\n:::"})

    assert CHECK.propose(Host(tmp_path), POLL)[0].id == "R03-by-hand"


def test_interfaces_without_a_device_do_not_count(tmp_path: Path) -> None:
    files = {"/sys/class/net/docker0/queues/rx-7/rps_cpus": "0\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_whichever_core_polls_one_queue_fits(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path / "one", nic(1), nobody).state is State.PASS
    assert judge(CHECK, tmp_path / "two", nic(2), nobody).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "five", nic(5), nobody).state is State.FAIL


def test_where_nothing_polls_every_core_may_have_one(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING, cores=())

    assert judge(CHECK, tmp_path, nic(4), housekeeping).state is State.PASS


def test_a_device_that_sleeps_takes_queues_on_its_own_cores(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, nic(4)).state is State.FAIL
    assert judge(CHECK, tmp_path, nic(4), SLEEP).state is State.NOT_APPLICABLE
