from pathlib import Path

import pytest

from taut.dut import dpdk
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


@pytest.mark.parametrize(
    ("core", "nodes", "lcores"),
    [
        (5, {}, "0@5,1@5"),
        (5, dict.fromkeys(range(8), 0), "0@5,1@5"),
        (5, {core: core % 2 for core in range(8)}, "1@5,3@5"),
        (130, {core: core // 64 for core in range(256)}, "0@130,1@130"),  # no such number is near
        (160, {core: core // 32 % 2 for core in range(256)}, "32@160,33@160"),
    ],
)
def test_memory_comes_from_the_node_of_the_core(
    core: int, nodes: dict[int, int], lcores: str
) -> None:
    main = lcores.partition("@")[0]

    assert dpdk.lcore_arguments(core, 2, nodes) == [f"--lcores={lcores}", f"--main-lcore={main}"]


def test_each_kind_of_link_opens_as_a_port() -> None:
    links = [
        Link("memif", "", "memif:/run/x.sock,role=server", socket=Path("/run/x.sock")),
        Link("veth", "", "veth:d0", device_ifname="d0"),
        Link("xdp", "", "xdp:d1", device_ifname="d1"),
        Link("pci", "", "pci:0000:3b:00.0"),
    ]

    assert dpdk.port_arguments(links) == [
        "--vdev=net_memif0,role=server,id=0,socket=/run/x.sock,socket-abstract=no",
        "--vdev=net_af_packet1,iface=d0",
        "--vdev=net_af_xdp2,iface=d1",
        "--allow=0000:3b:00.0",
    ]


def test_without_hugepages_it_runs_and_says_what_it_costs(
    scope: RunScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpdk, "free_hugepages", lambda: dpdk.HUGEPAGES - 1)

    arguments, notes = dpdk.memory_arguments(scope, "testpmd")

    assert arguments == ["--no-huge", "-m", "64", f"--file-prefix=taut-{scope.id}-testpmd"]
    assert "without hugepages" in notes[0]


def test_with_hugepages_nothing_is_left_in_a_mount(
    scope: RunScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpdk, "free_hugepages", lambda: dpdk.HUGEPAGES)

    assert dpdk.memory_arguments(scope, "testpmd") == (["--in-memory", "-m", "64"], [])
