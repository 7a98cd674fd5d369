from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.numa_locality import CHECK
from taut.host.situation import Role

NODES = "/sys/devices/system/node"
TWO = {f"{NODES}/node0/cpulist": "0-1\n", f"{NODES}/node1/cpulist": "2-3\n"}
NIC_NODE = "/sys/class/net/eth0/device/numa_node"
PAGES = "hugepages/hugepages-2048kB/nr_hugepages"
ETH0 = replace(POLL, interfaces=("eth0",))


def test_one_node_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {f"{NODES}/node0/cpulist": "0-3\n"}).state is State.PASS


def test_a_nic_of_the_poll_cores_node_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {**TWO, NIC_NODE: "1\n"}, ETH0).state is State.PASS


def test_a_nic_of_another_node_fails_for_the_cores(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {**TWO, NIC_NODE: "0\n"}, ETH0)

    assert finding.state is State.FAIL
    assert "eth0 on node 0" in finding.observed
    assert finding.cores == (2, 3)
    assert CHECK.propose(tree(tmp_path, {}), ETH0)[0].by_hand


def test_a_nic_that_dpdk_drives_counts(tmp_path: Path) -> None:
    address = "0000:3b:00.0"
    files = {
        **TWO,
        f"/sys/bus/pci/drivers/vfio-pci/{address}/uevent": "",
        f"/sys/bus/pci/devices/{address}/class": "0x020000\n",
        f"/sys/bus/pci/devices/{address}/numa_node": "0\n",
    }

    assert judge(CHECK, tmp_path, files).state is State.FAIL


def test_hugepages_of_the_other_node_only_fail(tmp_path: Path) -> None:
    pages = {f"{NODES}/node0/{PAGES}": "512\n", f"{NODES}/node1/{PAGES}": "0\n"}

    finding = judge(CHECK, tmp_path, {**TWO, NIC_NODE: "1\n", **pages}, ETH0)

    assert finding.state is State.FAIL
    assert "no hugepages on node 1" in finding.observed


def test_firmware_that_names_no_node_leaves_it_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {**TWO, NIC_NODE: "-1\n"}, ETH0)

    assert finding.state is State.UNKNOWN
    assert "eth0 on no known node" in finding.observed


def test_without_named_cores_two_nodes_are_unknown(tmp_path: Path) -> None:
    assert "--cores" in judge(CHECK, tmp_path, TWO, replace(ETH0, cores=())).needs


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    odd = {f"{NODES}/node0/cpulist": "x\n", f"{NODES}/node1/cpulist": "3-1\n"}

    assert judge(CHECK, tmp_path / "none", {}).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "odd", odd).state is State.UNKNOWN


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, TWO, guest).state is State.NOT_APPLICABLE
