from dataclasses import replace
from pathlib import Path

from check_rows import BY_ID, CONTAINER, GUEST, HOUSEKEEPING, bad, each, good, odd, skipped, unseen
from host_commands import CommandWriter
from host_tree import POLL, remedied, tree
from taut.host.host import Host

POOLS = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"
LIMIT = "/sys/fs/cgroup/hugetlb.2MB.max"
PLENTY = {"/proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 50000000 kB\n"}
LITTLE = {"/proc/meminfo": "MemTotal: 2097152 kB\nMemAvailable: 819200 kB\n"}
TWO_NODES = {
    f"{NODES}/node0/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
    f"{NODES}/node1/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "/sys/class/net/eth0/device/numa_node": "1\n",
}
OWN_NODE = "/sys/bus/pci/devices/0000:3b:00.0/numa_node"
OWN_CARD = {
    "/sys/bus/pci/drivers/vfio-pci/0000:3b:00.0": "",
    "/sys/bus/pci/devices/0000:3b:00.0/class": "0x020000\n",
    OWN_NODE: "0\n",
}
ETH0 = replace(POLL, interfaces=("eth0",))
TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled"
MERGE = "/sys/kernel/mm/ksm/run"
KSMTUNED = {
    MERGE: "1\n",
    "/commands/systemctl is-active ksmtuned.service": "active\n",
    "/commands/systemctl is-enabled ksmtuned.service": "enabled\n",
    "/commands/systemctl is-enabled ksm.service": "disabled\n",
}
BALANCING = "/proc/sys/kernel/numa_balancing"
COMPACTION = "/proc/sys/vm/compaction_proactiveness"
SWAPS = "/proc/swaps"
SWAPPINESS = "/proc/sys/vm/swappiness"
NONE = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
ONE = f"{NONE}/dev/sda2 partition 1000 0 -2\n"
TOO_MUCH = {
    SWAPS: f"{NONE}/dev/sda2 partition 4000000 600000 -2\n/f file 4000000 300000 -3\n",
    SWAPPINESS: "60\n",
    "/proc/meminfo": "MemTotal: 4000000 kB\nMemAvailable: 1200000 kB\n",
}
POLLER = replace(POLL, processes=(500,))


def reserved(small: str, large: str | None = None) -> dict[str, str]:
    files = {f"{POOLS}/hugepages-2048kB/nr_hugepages": f"{small}\n"}
    if large is not None:
        files[f"{POOLS}/hugepages-1048576kB/nr_hugepages"] = f"{large}\n"
    return files


def swapping(swappiness: int, locked_kb: object, resident_kb: int = 4000) -> dict[str, str]:
    status = f"Name:\tpoller\nVmLck:\t{locked_kb} kB\nVmRSS:\t{resident_kb} kB\n"
    return {SWAPS: ONE, SWAPPINESS: f"{swappiness}\n", "/proc/500/status": status}


ROWS = (
    good("K22", reserved("0", "4")),
    bad(
        "K22",
        reserved("0", "0") | PLENTY,
        remedies="now boot",
        does=("nr_hugepages = 512", "default_hugepagesz=1G", "hugepagesz=1G", "hugepages=2"),
        mends=True,
    ),
    # A small machine keeps three quarters of its memory.
    bad(
        "K22",
        reserved("0", "0") | LITTLE,
        does=("nr_hugepages = 100", "hugepagesz=2M", "hugepages=256"),
    ),
    bad(
        "K22",
        reserved("512") | TWO_NODES | PLENTY,
        "none on node 1",
        on=ETH0,
        does=("/node1/",),
        mends=True,
    ),
    # A card that a program drives itself says where the traffic is.
    good("K22", reserved("512") | TWO_NODES | PLENTY | OWN_CARD, on=ETH0),
    bad(
        "K22",
        reserved("512") | TWO_NODES | PLENTY | OWN_CARD | {OWN_NODE: "1\n"},
        "none on node 1",
        does=("/node1/",),
        mends=True,
    ),
    unseen("K22", reserved("512"), "host", on=GUEST),
    bad("K22", reserved("0"), on=GUEST),
    good("K22", reserved("512"), on=CONTAINER),
    bad("K22", reserved("512") | {LIMIT: "0\n"}, on=CONTAINER, does=("on the host",)),
    skipped("K22", {}),
    unseen("K22", reserved("some")),
    good("K23", {TRANSPARENT: "always madvise [never]\n"}),
    good("K23", {TRANSPARENT: "always [madvise] never\n"}),
    bad(
        "K23",
        {TRANSPARENT: "[always] madvise never\n"},
        remedies="now boot",
        does=("transparent_hugepage=never",),
        mends=True,
    ),
    skipped("K23", {}),
    *odd("K23", TRANSPARENT, "always madvise never\n"),
    good("R12", {MERGE: "0\n"}),
    good("R12", {MERGE: "2\n"}),
    good("R12", {MERGE: "0\n", "/sys/kernel/mm/ksm/pages_sharing": "4711\n"}, "4711 pages merged"),
    bad("R12", {MERGE: "1\n"}, remedies="now", mends=True),
    bad("R12", {MERGE: "1\n"}, on=HOUSEKEEPING, remedies="now", mends=True),
    # Who would start it again is stopped too.
    bad(
        "R12",
        KSMTUNED,
        remedies="now boot",
        does=(f"unit ksmtuned.service = inactive\n{MERGE} = 0", "unit ksmtuned.service: disabled"),
        mends=True,
    ),
    bad("R12", {MERGE: "1\n"}, on=CONTAINER, remedies="by-hand"),
    skipped("R12", {}),
    *odd("R12", MERGE, "", "3\n", "\x80\x00\n"),
    good("R13", {BALANCING: "0\n"}),
    *(
        bad(
            "R13",
            {BALANCING: "1\n"},
            f"{BALANCING} = 1",
            on=role,
            remedies="now boot",
            does=("numa_balancing=disable",),
            mends=True,
        )
        for role in (POLL, HOUSEKEEPING, GUEST)
    ),
    # Moving pages to slower memory is as bad.
    bad("R13", {BALANCING: "2\n"}),
    bad("R13", {BALANCING: "1\n"}, on=CONTAINER, remedies="by-hand"),
    skipped("R13", {}),
    *odd("R13", BALANCING, "", "off\n", "\x80\x00\n"),
    good("R14", {COMPACTION: "0\n"}),
    *(
        bad(
            "R14",
            {COMPACTION: "20\n"},
            f"{COMPACTION} = 20",
            on=role,
            remedies="now boot",
            does=("sysctl vm.compaction_proactiveness = 0",),
            mends=True,
        )
        for role in (POLL, HOUSEKEEPING, GUEST)
    ),
    bad("R14", {COMPACTION: "20\n"}, on=CONTAINER, remedies="by-hand"),
    skipped("R14", {}),
    *odd("R14", COMPACTION, "", "off\n", "\x80\x00\n"),
    good("R15", {SWAPS: NONE, SWAPPINESS: "60\n"}, "no swap"),
    bad(
        "R15",
        {SWAPS: ONE, SWAPPINESS: "60\n"},
        "swap on /dev/sda2, swappiness 60",
        remedies="now now-2 boot by-hand",
        does=(f"{SWAPPINESS} = 10", "sysctl vm.swappiness = 10", "extreme"),
    ),
    good("R15", swapping(10, 5000), on=POLLER),
    bad("R15", swapping(11, 5000), on=POLLER),
    bad("R15", swapping(10, 64), "not locked: process 500", on=POLLER),
    bad("R15", swapping(1, "lots"), on=POLLER),
    bad("R15", {SWAPS: ONE, "/sys/module/zswap/parameters/enabled": "Y\n"}, "zswap"),
    bad("R15", {SWAPS: ONE}, on=CONTAINER, remedies="by-hand"),
    good("R15", {SWAPS: ONE, "/sys/fs/cgroup/memory.swap.max": "0\n"}, on=CONTAINER),
    # What is swapped out must fit into memory.
    bad(
        "R15",
        TOO_MUCH,
        "878 MB of it in use",
        remedies="now-2 boot by-hand",
        does=("1171 MB are available",),
    ),
    skipped("R15", {}),
    *odd("R15", SWAPS, "", "swap: off\n", "\x80\x00\n"),
)

test_memory = each(ROWS)


def test_what_is_reserved_stays_as_it_is(tmp_path: Path) -> None:
    remedies = BY_ID["K22"].propose(tree(tmp_path, reserved("64") | PLENTY), POLL)

    assert not any(remedy.changes for remedy in remedies)


def test_swap_is_switched_off_and_on_again(tmp_path: Path) -> None:
    tree(tmp_path, {SWAPS: ONE, SWAPPINESS: "60\n"})

    with remedied(BY_ID["R15"], tmp_path, writer=CommandWriter(Host(tmp_path))):
        pass
