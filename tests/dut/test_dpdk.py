from pathlib import Path

import pytest

from taut.dut import dpdk
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


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
