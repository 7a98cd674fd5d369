from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID, CONTAINER, GUEST, NOBODY, bad, each, good, skipped, unseen
from host_tree import BARE_METAL, POLL, tree
from taut.host.machine import Machine
from taut.host.situation import Situation, Watched

CPU = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
OFF = {f"{CPU}/smt/active": "0\n"}
# Cores 0 and 2 are siblings, and 1 and 3.
SMT = {
    f"{CPU}/smt/active": "1\n",
    **{f"{CPU}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}\n" for n in range(4)},
    **{f"{CPU}/cpu{n}/online": "1\n" for n in range(1, 4)},
}
APART = SMT | {f"{CPU}/isolated": "1,3\n"}
ONE = replace(POLL, cores=(3,))
TWO = {f"{NODES}/node0/cpulist": "0-1\n", f"{NODES}/node1/cpulist": "2-3\n"}
NIC_NODE = "/sys/class/net/eth0/device/numa_node"
PAGES = "hugepages/hugepages-2048kB/nr_hugepages"
NIC = "0000:3b:00.0"
ETH0 = replace(POLL, interfaces=("eth0",))
LEAKS = f"{CPU}/vulnerabilities"
ZEN_3 = replace(BARE_METAL, vendor="amd", family=0x19, kernel=(6, 18))


def stat(busy: int, idle: int) -> dict[str, str]:
    times = f"{busy} 0 0 {idle} 0 0 0 0 0 0"
    return {"/proc/stat": f"cpu  0 0 0 0 0 0 0 0\ncpu1 {times}\nintr 5\n"}


def watched(busy: int, idle: int) -> Situation:
    return replace(ONE, watched=Watched(5.0, stat(10, 10), stat(10 + busy, 10 + idle)))


def on(machine: Machine) -> Situation:
    return replace(POLL, machine=machine)


ROWS = (
    good("HW03", OFF),
    bad(
        "HW03",
        SMT,
        "1, sibling of 3, is not isolated",
        on=ONE,
        cores=(3,),
        remedies="now boot",
        does=(f"{CPU}/cpu1/online = 0",),
        mends=True,
    ),
    good("HW03", APART, on=watched(0, 500)),
    bad("HW03", APART, "busy 50 %", on=watched(250, 250)),
    # What runs on a core that is set apart is somebody's.
    bad("HW03", APART, on=replace(watched(250, 250), apart=(1, 3)), remedies="by-hand"),
    unseen("HW03", APART, "watch a while: --watch 5s", on=ONE),
    # Only cores that suffer are named.
    bad("HW03", SMT | {f"{CPU}/isolated": "1\n"}, "0, sibling of 2, is not", cores=(2,)),
    # Siblings that both poll are for the user to part.
    bad("HW03", SMT, "both poll", on=replace(POLL, cores=(1, 3)), remedies="by-hand"),
    # The last housekeeping core never goes offline.
    bad("HW03", SMT, on=replace(ONE, online=(1, 3)), remedies="by-hand"),
    bad("HW03", SMT, on=CONTAINER, remedies="by-hand", does=("on the host",)),
    unseen("HW03", SMT, "--cores", on=NOBODY),
    unseen("HW03", OFF, "on the host", on=GUEST),
    unseen("HW03", OFF, "on the host", on=on(replace(BARE_METAL, hypervisor="KVM"))),
    skipped("HW03", {}),
    unseen("HW03", SMT | {f"{CPU}/cpu2/topology/thread_siblings_list": "2-x\n"}),
    good("HW11", {f"{NODES}/node0/cpulist": "0-3\n"}),
    bad(
        "HW11",
        TWO | {NIC_NODE: "0\n"},
        "eth0 on node 0",
        on=ETH0,
        cores=(2, 3),
        remedies="by-hand",
    ),
    good("HW11", TWO | {NIC_NODE: "1\n"}, on=ETH0),
    # A NIC that DPDK drives counts.
    bad(
        "HW11",
        TWO
        | {
            f"/sys/bus/pci/drivers/vfio-pci/{NIC}/uevent": "",
            f"/sys/bus/pci/devices/{NIC}/class": "0x020000\n",
            f"/sys/bus/pci/devices/{NIC}/numa_node": "0\n",
        },
    ),
    bad(
        "HW11",
        TWO | {NIC_NODE: "1\n", f"{NODES}/node0/{PAGES}": "512\n", f"{NODES}/node1/{PAGES}": "0\n"},
        "no hugepages on node 1",
        on=ETH0,
    ),
    # Firmware that names no node leaves it unknown.
    unseen("HW11", TWO | {NIC_NODE: "-1\n"}, "eth0 on no known node", on=ETH0),
    unseen("HW11", TWO, "--cores", on=replace(ETH0, cores=())),
    unseen("HW11", {}),
    unseen("HW11", {f"{NODES}/node0/cpulist": "x\n", f"{NODES}/node1/cpulist": "3-1\n"}),
    good(
        "HW14",
        {
            f"{LEAKS}/spectre_v2": "Mitigation: Retpolines\n",
            f"{LEAKS}/retbleed": "Vulnerable\n",
            f"{LEAKS}/mds": "Not affected\n",
        },
        "mitigated: spectre_v2; vulnerable: retbleed; not affected: 1",
    ),
    good("HW14", {f"{LEAKS}/mds": "\x00\n"}, "not known: 1"),
    skipped("HW14", {}),
    good("HW15", {}, "interrupt the other cores"),
    good("HW15", {}, "preempted vCPU", on=GUEST),
    good("HW15", {}, "without interrupts", on=on(replace(BARE_METAL, vendor="arm"))),
    good("HW15", {}, "need no interrupts", on=on(replace(ZEN_3, flags=frozenset({"invlpgb"})))),
    good("HW15", {}, "interrupt the other cores", on=on(replace(ZEN_3, kernel=(6, 12)))),
    good("HW15", {}, "interrupt the other cores", on=on(replace(ZEN_3, family=0x17))),
    # New kernels use AMD's flush without naming it.
    unseen("HW15", {}, "cpuid", on=on(ZEN_3)),
    unseen("HW15", {}, on=on(replace(BARE_METAL, vendor="other"))),
)

test_processor = each(ROWS)


CGROUP = "/sys/fs/cgroup"
VERSION_2 = {f"{CGROUP}/cgroup.controllers": "cpuset cpu\n"}


@pytest.mark.parametrize(
    ("kernel", "groups", "is_taken"),
    [
        ((6, 1), {}, True),
        ((6, 1), VERSION_2 | {f"{CGROUP}/cgroup.subtree_control": "cpu\n"}, True),
        ((6, 1), VERSION_2 | {f"{CGROUP}/cgroup.subtree_control": "cpuset cpu\n"}, False),
        ((6, 1), {f"{CGROUP}/cpuset/docker/cpuset.cpus": "0-3\n"}, False),
        ((6, 2), VERSION_2 | {f"{CGROUP}/cgroup.subtree_control": "cpuset cpu\n"}, True),
    ],
)
def test_siblings_stay_where_threads_of_containers_would_forget_their_cores(
    kernel: tuple[int, int], groups: dict[str, str], is_taken: bool, tmp_path: Path
) -> None:
    on_kernel = replace(ONE, machine=replace(BARE_METAL, kernel=kernel))

    remedy = BY_ID["HW03"].propose(tree(tmp_path, SMT | groups), on_kernel)[0]

    assert remedy.id == "HW03-now"
    assert (not remedy.by_name) is is_taken
    assert "before Linux 6.2" in remedy.risk
