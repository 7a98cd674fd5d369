"""K22: huge pages for packet buffers."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kernel._shape import RoleCheck, at_boot
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING, on_the_host
from taut.host.situation import Role, Situation

_POOLS = "/sys/kernel/mm/hugepages"
_NODES = "/sys/devices/system/node"
_SMALL = "hugepages-2048kB"
_WANTED = "huge pages reserved, on the node of the traffic's network interface"
_WANTED_GUEST = "huge pages reserved, and 1 GiB pages of the host behind them"
# One GiB: what a DPDK program with some ten thousand buffers per port takes.
_SMALL_PAGES = 512
_SMALL_KIB, _LARGE_KIB = 2048, 1024 * 1024


class Hugepages(RoleCheck):
    """What is reserved stays as it is; where there is none a GiB is proposed."""

    id = "K22"
    title = "huge pages are reserved"
    fault = "Too few huge pages are reserved"
    severity = Severity.MAJOR
    why = (
        "packet buffers on huge pages never fault and hardly miss the TLB; without a reserve they "
        "are found by compaction while programs run, or not at all"
    )
    source = "Intel NFV-I (2018); kernel-parameters.txt (hugepages=)"
    roles = POLLING | {Role.CONTAINER}

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Count the reserve, on the right node where it is known."""
        if not host.is_there(_POOLS):
            return not_applicable("this kernel has no huge pages")
        counts = _counts(host, _POOLS)
        if not counts:
            return unknown(f"nothing readable in {_POOLS}", "numbers in nr_hugepages", _WANTED)
        observed = ", ".join(f"{n} of {size}" for size, n in sorted(counts.items()))
        if not any(counts.values()):
            return failed(observed, _WANTED)
        node = _node(host, situation)
        if node is not None:
            there = _counts(host, f"{_NODES}/node{node}/hugepages")
            if there and not any(there.values()):
                return failed(f"{observed}, none on node {node} of the interface", _WANTED)
        if situation.role is Role.KVM_GUEST:
            needs = "what backs the guest's memory: memoryBacking in its definition, on the host"
            return unknown(observed, needs, _WANTED_GUEST)
        if situation.role is Role.CONTAINER:
            return _judge_limit(host, observed)
        return passed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """A GiB, or a quarter of what memory there is."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "reserve huge pages and let the container have some"),)
        found = []
        folder = _place(host, situation)
        if host.number(f"{folder}/{_SMALL}/nr_hugepages") == 0:
            count = _affordable(host, "MemAvailable", _SMALL_KIB, _SMALL_PAGES)
            if count:
                setting = FileSetting(f"{folder}/{_SMALL}/nr_hugepages", "number")
                found.append(
                    Remedy(
                        "K22-now",
                        f"reserve {count} pages of 2 MiB",
                        changes=(Change(setting, str(count)),),
                        risk="fragmented memory yields fewer",
                        cost=f"{count * 2} MiB of memory for nothing else",
                    )
                )
        return (*found, self._boot(host, situation))

    def _boot(self, host: Host, situation: Situation) -> Remedy:
        size = "1G"
        count = _affordable(host, "MemTotal", _LARGE_KIB, min(len(situation.cores) or 1, 4))
        if not count or not host.is_there(f"{_POOLS}/hugepages-1048576kB"):
            size, count = "2M", _affordable(host, "MemTotal", _SMALL_KIB, _SMALL_PAGES)
        return at_boot(
            self.id,
            f"reserve {count} pages of {size} while memory is whole",
            KernelParameter("default_hugepagesz", size),
            KernelParameter("hugepagesz", size),
            KernelParameter("hugepages", str(count)),
            cost="the memory is for nothing else",
        )


def _counts(host: Host, folder: str) -> dict[str, int]:
    """Pages by size; what is not readable is left out."""
    counts = {}
    for name in host.names(folder):
        number = host.number(f"{folder}/{name}/nr_hugepages")
        if number is not None and name.startswith("hugepages-"):
            counts[name.removeprefix("hugepages-")] = number
    return counts


def _node(host: Host, situation: Situation) -> int | None:
    """Give the memory node of the traffic's interface, where there are several."""
    if len(host.paths(f"{_NODES}/node[0-9]*")) < 2:
        return None
    nodes = (
        host.number(f"/sys/class/net/{name}/device/numa_node") for name in situation.interfaces
    )
    return next((node for node in nodes if node is not None and node >= 0), None)


def _place(host: Host, situation: Situation) -> str:
    node = _node(host, situation)
    return _POOLS if node is None else f"{_NODES}/node{node}/hugepages"


def _affordable(host: Host, memory: str, page_kib: int, wanted: int) -> int:
    """Never more than a quarter of it."""
    kib = (host.fields("/proc/meminfo").get(memory) or "").split()
    if not kib or not kib[0].isdigit():
        return wanted
    return min(wanted, int(kib[0]) // 4 // page_kib)


def _judge_limit(host: Host, observed: str) -> Finding:
    """The container's own limit: none, or more than nothing."""
    for path in host.paths("/sys/fs/cgroup/hugetlb.*.max"):
        if path.count(".") == 2 and host.read(path) == "0":
            return failed(f"{observed}, {path} = 0", _WANTED)
    return passed(observed, _WANTED)


CHECK = Hugepages()
