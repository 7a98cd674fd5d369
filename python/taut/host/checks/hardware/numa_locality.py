"""HW11: whether poll cores, their NICs and their hugepages are on one NUMA node."""

import re
from collections.abc import Sequence

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.hardware._shape import count, nics, not_asked
from taut.host.host import Host
from taut.host.situation import Role, Situation

_NODES = "/sys/devices/system/node"
_ROLES = (Role.POLL_CORE, Role.KVM_HOST, Role.CONTAINER)
_WANTED = "poll cores, NICs and hugepages on one node"


class _NumaLocality(Check):
    id = "HW11"
    title = "NUMA locality"
    fault = "Memory or devices are on another NUMA node"
    severity = Severity.MINOR
    why = (
        "memory and devices of another socket are about 100 ns further away per access, and the "
        "way there is shared"
    )
    source = "Intel NFV-I host configuration (2018); cpu-isolation.rst; size not verified"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the nodes of cores, devices and pages."""
        if (finding := not_asked(situation, _ROLES)) is not None:
            return finding
        nodes = {node: cores_in(host.read(f"{_NODES}/node{node}/cpulist")) for node in _nodes(host)}
        if len(nodes) < 2:
            if not nodes and not host.is_there("/sys/devices/system/cpu"):
                return unknown(f"no {_NODES}", "a mounted /sys", _WANTED)
            return passed("one NUMA node", _WANTED)
        if not situation.cores:
            return unknown(f"{len(nodes)} nodes", "name the poll cores with --cores", _WANTED)
        of_core = {core: node for node, cores in nodes.items() for core in cores or ()}
        absent = [core for core in situation.cores if core not in of_core]
        if absent:
            return unknown(
                f"no node of cores {format_cpu_list(absent)}", f"{_NODES}/nodeN/cpulist", _WANTED
            )
        return _judge(host, situation, {core: of_core[core] for core in situation.cores})

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Choose others: where a card sits cannot be changed."""
        return (
            Remedy(
                "HW11-by-hand",
                "poll on the NIC's node",
                by_hand="choose --cores from /sys/class/net/NIC/device/local_cpulist, and put "
                "hugepages there: echo N > /sys/devices/system/node/nodeX/hugepages/"
                "hugepages-2048kB/nr_hugepages; in the BIOS: node interleaving off",
            ),
        )


def _judge(host: Host, situation: Situation, of_core: dict[int, int]) -> Finding:
    of_nic = {nic.name: _node_of(host, nic.folder) for nic in nics(host, situation)}
    of_pages = {node: _pages(host, node) for node in set(of_core.values())}
    known = {node for node in of_nic.values() if node is not None}
    places = [f"core {core} on node {node}" for core, node in of_core.items()]
    places += [f"{name} on {_named(node)}" for name, node in of_nic.items()]
    far = _far(of_core, known)
    bare = [node for node, pages in of_pages.items() if pages == 0]
    has_pages = any(_pages(host, node) for node in _nodes(host))
    if has_pages and bare:
        places += [f"no hugepages on node {node}" for node in bare]
        far = far or tuple(core for core, node in of_core.items() if node in bare)
    observed = "; ".join(places)
    if far:
        return failed(observed, _WANTED, far)
    if not known:
        needs = "a NIC whose firmware names its node, or its name with --interface"
        return unknown(observed, needs, _WANTED)
    return passed(observed, _WANTED, situation.cores)


def _far(of_core: dict[int, int], of_nics: set[int]) -> CpuSet:
    """Cores on whose node there is no NIC, where there is one elsewhere."""
    return tuple(core for core, node in of_core.items() if of_nics and node not in of_nics)


def _named(node: int | None) -> str:
    return "no known node" if node is None else f"node {node}"


def _nodes(host: Host) -> list[int]:
    found = [re.fullmatch(r"node([0-9]{1,5})", name) for name in host.names(_NODES)]
    return [int(match[1]) for match in found if match]


def _node_of(host: Host, folder: str) -> int | None:
    """Of a device; of a virtio device it stands one folder up. -1: firmware does not tell."""
    own, parent = host.read(f"{folder}/numa_node"), host.read(f"{folder}/../numa_node")
    return count(own if own is not None else parent)


def _pages(host: Host, node: int) -> int:
    paths = host.paths(f"{_NODES}/node{node}/hugepages/*/nr_hugepages")
    return sum(count(host.read(path)) or 0 for path in paths)


CHECK = _NumaLocality()
