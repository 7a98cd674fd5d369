from dataclasses import replace
from pathlib import Path

from host_tree import POLL, SLEEP, judge, remedied, tree
from taut.host.boot.item import Sysctl
from taut.host.check import State
from taut.host.checks.runtime.packet_steering import CHECK
from taut.host.host import Host
from taut.host.situation import Role

DEFAULT = "/proc/sys/net/core/rps_default_mask"
QUEUE = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
BRIDGE = "/sys/class/net/br0/queues/rx-0/rps_cpus"
XPS = "/sys/class/net/eth0/queues/tx-0/xps_cpus"


def test_no_steering_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {DEFAULT: "0\n", QUEUE: "00000000,00000000\n"})

    assert finding.state is State.PASS
    assert "2 RPS masks" in finding.observed


def test_polling_cores_are_taken_out_and_the_others_stay(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {DEFAULT: "0\n", QUEUE: "f\n", BRIDGE: "00000000,00000006\n"})
    assert finding.state is State.FAIL
    assert finding.cores == (2, 3)
    assert f"{QUEUE} = cores 0-3" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        (now,) = remedies
        assert [change.wanted for change in now.changes] == ["2", "3"]


def test_the_mask_of_queues_to_come_is_set_at_boot_too(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {DEFAULT: "c\n"}).state is State.FAIL

    with remedied(CHECK, tmp_path) as remedies:
        assert remedies[1].boot == (Sysctl("net.core.rps_default_mask", "0"),)


def test_masks_of_senders_are_not_judged(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {DEFAULT: "0\n", XPS: "c\n"}).state is State.PASS


def test_flow_steering_is_said(tmp_path: Path) -> None:
    files = {DEFAULT: "0\n", "/proc/sys/net/core/rps_sock_flow_entries": "32768\n"}

    assert "RFS" in judge(CHECK, tmp_path, files).observed


def test_what_is_no_mask_is_unknown(tmp_path: Path) -> None:
    for text in ("all\n", "\x80\n", "0x3\n"):
        assert judge(CHECK, tmp_path, {QUEUE: text}).state is State.UNKNOWN, text


def test_nothing_to_steer(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_with_no_polling_core_named_some_cores_are_unknown(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, {QUEUE: "0\n"}, nobody).state is State.PASS
    assert judge(CHECK, tmp_path, {QUEUE: "c\n"}, nobody).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {QUEUE: "f\n"}, nobody).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), nobody) == ()


def test_a_container_leaves_it_to_the_host(tmp_path: Path) -> None:
    (remedy,) = CHECK.propose(tree(tmp_path, {QUEUE: "f\n"}), replace(POLL, role=Role.CONTAINER))

    assert remedy.id == "R04-by-hand"


def test_packets_may_be_steered_to_a_device_that_sleeps(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {QUEUE: "f\n"}).state is State.FAIL
    assert judge(CHECK, tmp_path, {QUEUE: "f\n"}, SLEEP).state is State.NOT_APPLICABLE
