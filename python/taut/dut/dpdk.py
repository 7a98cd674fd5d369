"""What drivers of other people's DPDK programs share: ports and memory as EAL arguments."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from taut.dut.installed import said_by
from taut.host.dpdk import DEVICE_HUGEPAGES, dpdk_version
from taut.testbed.link import Link
from taut.testbed.scope import RunScope

HUGEPAGES = DEVICE_HUGEPAGES
MEMORY_MB = 2 * HUGEPAGES
MOST_LCORES = 128
"""RTE_MAX_LCORE of Debian's DPDK on x86; elsewhere it is more."""
_FREE_HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
_VERSION = re.compile(r"RTE Version: '([^']+)'")


@cache
def version_of(program: str | Path | None) -> str:
    """Give the version of the DPDK that a program runs on, in EAL's own words.

    Where there is no program, or it says none, that of this machine's libdpdk, and that it is.
    """
    # Ends with its usage, before it takes anything.
    said = "" if program is None else said_by(program, "-v", "-h")
    match = _VERSION.search(said)
    return f"libdpdk {dpdk_version()}" if match is None else match[1]


def lcore_arguments(core: int, n_threads: int, nodes: Mapping[int, int]) -> list[str]:
    """Give EAL arguments that put its threads, the main one first, on one core, however high.

    EAL takes memory on the node of the CPU whose number an lcore has, wherever it runs: so lcores
    have numbers of the core's node. `nodes`: the node of each core (Host.nodes), as far as known.
    """
    near = sorted(range(MOST_LCORES), key=lambda cpu: nodes.get(cpu) != nodes.get(core))
    lcores = near[:n_threads]
    return [
        f"--lcores={','.join(f'{lcore}@{core}' for lcore in lcores)}",
        f"--main-lcore={lcores[0]}",
    ]


def port_arguments(links: Sequence[Link]) -> list[str]:
    """EAL arguments that open the device's end of each link as port 0, 1, ..."""
    return [_port_argument(i, link) for i, link in enumerate(links)]


def memory_arguments(scope: RunScope, name: str) -> tuple[list[str], list[str]]:
    """Give EAL's arguments for memory, and notes: without hugepages it works, but slower."""
    if free_hugepages() >= HUGEPAGES:
        return ["--in-memory", "-m", str(MEMORY_MB)], []
    arguments = ["--no-huge", "-m", str(MEMORY_MB), f"--file-prefix={scope.file_prefix(name)}"]
    return arguments, [without_hugepages(name)]


def without_hugepages(name: str) -> str:
    """Say of a program's trial that it had none."""
    return f"{name} runs without hugepages (4 KB pages: more TLB misses, longer tail)"


def free_hugepages(near: Path | None = None) -> int:
    """Hugepages of 2 MB nobody uses, on the node whose count `near` is; None: on all."""
    path = _FREE_HUGEPAGES if near is None else near.with_name(_FREE_HUGEPAGES.name)
    return int(path.read_text(encoding="ascii")) if path.exists() else 0


def _port_argument(i: int, link: Link) -> str:
    _, _, where = link.device_port.partition(":")
    if link.kind == "memif":
        return f"--vdev=net_memif{i},role=server,id=0,socket={link.socket},socket-abstract=no"
    if link.kind == "veth":
        return f"--vdev=net_af_packet{i},iface={link.device_ifname}"
    if link.kind == "xdp":
        return f"--vdev=net_af_xdp{i},iface={link.device_ifname}"
    return f"--allow={where}"
