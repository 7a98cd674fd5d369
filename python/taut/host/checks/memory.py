"""Checks of memory: huge pages, swap, and who moves pages around."""

import re
from collections.abc import Iterable

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import KernelParameter, Sysctl, UnitState
from taut.host.check import Finding, Remedy
from taut.host.checks._platform import nics
from taut.host.checks._units import is_active, starts_at_boot
from taut.host.setting import Change
from taut.host.settings.swap import SwapArea, kb_in, too_little_memory, used_kb
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.situation import Role
from taut.host.table import (
    CRITICAL,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    POLLING,
    REBOOT,
    WITH_CONTAINERS,
    Check,
    boot,
    by_hand,
    file_check,
    now,
    write,
)
from taut.host.view import View

_POOLS = "/sys/kernel/mm/hugepages"
_NODES = "/sys/devices/system/node"
_SMALL = "hugepages-2048kB"
# One GiB: what a DPDK program with some ten thousand buffers per port takes.
_SMALL_PAGES = 512
_SMALL_KIB, _LARGE_KIB = 2048, 1024 * 1024
_KSM = "/sys/kernel/mm/ksm"
_KSM_UNITS = ("ksmtuned.service", "ksm.service")
_SWAPS = "/proc/swaps"
_SWAPPINESS = "/proc/sys/vm/swappiness"
_SWAP_LIMIT = "/sys/fs/cgroup/memory.swap.max"
_MOST_SWAPPINESS = 10


def huge_pages(see: View) -> Finding:
    """Count the reserve, on the right node where it is known."""
    if not see.is_there(_POOLS):
        see.skip("this kernel has no huge pages")
    counts = _counts(see, _POOLS)
    if not counts:
        see.cannot_tell(f"nothing readable in {_POOLS}", "numbers in nr_hugepages")
    observed = ", ".join(f"{n} of {size}" for size, n in sorted(counts.items()))
    if not any(counts.values()):
        return see.failed(observed)
    nodes = _nodes(see)
    on_nodes = [_counts(see, f"{_NODES}/node{node}/hugepages") for node in nodes]
    if all(on_nodes) and nodes and not any(any(there.values()) for there in on_nodes):
        where = format_cpu_list(tuple(sorted(nodes)))
        return see.failed(f"{observed}, none on node {where} of the interface")
    if see.role is Role.KVM_GUEST:
        needs = "what backs the guest's memory: memoryBacking in its definition, on the host"
        wanted = "huge pages reserved, and 1 GiB pages of the host behind them"
        return see.unknown(observed, needs, wanted)
    if see.role is Role.CONTAINER:
        for path in see.paths("/sys/fs/cgroup/hugetlb.*.max"):
            if path.count(".") == 2 and see.read(path) == "0":
                return see.failed(f"{observed}, {path} = 0")
    return see.passed(observed)


def reserve_huge_pages(see: View) -> Iterable[Remedy]:
    """Where there is none: a GiB, or a quarter of what memory there is."""
    nodes = _nodes(see)
    folder = f"{_NODES}/node{nodes[0]}/hugepages" if nodes else _POOLS
    path = f"{folder}/{_SMALL}/nr_hugepages"
    count = _affordable(see, "MemAvailable", _SMALL_KIB, _SMALL_PAGES)
    if see.number(path) == 0 and count:
        yield now(
            f"reserve {count} pages of 2 MiB",
            write(path, str(count)),
            risk="fragmented memory yields fewer",
            cost=f"{count * 2} MiB of memory for nothing else",
        )
    size, count = "1G", _affordable(see, "MemTotal", _LARGE_KIB, min(len(see.cores) or 1, 4))
    if not count or not see.is_there(f"{_POOLS}/hugepages-1048576kB"):
        size, count = "2M", _affordable(see, "MemTotal", _SMALL_KIB, _SMALL_PAGES)
    yield boot(
        f"reserve {count} pages of {size} while memory is whole",
        KernelParameter("default_hugepagesz", size),
        KernelParameter("hugepagesz", size),
        KernelParameter("hugepages", str(count)),
        rollback=REBOOT,
        cost="the memory is for nothing else",
    )


def _counts(see: View, folder: str) -> dict[str, int]:
    """Pages by size; what is not readable is left out."""
    counts = {}
    for name in see.names(folder):
        number = see.number(f"{folder}/{name}/nr_hugepages")
        if number is not None and name.startswith("hugepages-"):
            counts[name.removeprefix("hugepages-")] = number
    return counts


def _nodes(see: View) -> list[int]:
    """Give the memory nodes of the devices that carry the traffic, where the host has several.

    First those that a program drives itself: an interface of the kernel may be for the user alone.
    """
    if len(see.paths(f"{_NODES}/node[0-9]*")) < 2:
        return []
    named = {f"/sys/class/net/{name}/device" for name in see.situation.interfaces}
    folders = sorted((nic.folder for nic in nics(see)), key=named.__contains__)
    nodes = (see.number(f"{folder}/numa_node") for folder in folders)
    return list(dict.fromkeys(node for node in nodes if node is not None and node >= 0))


def _affordable(see: View, memory: str, page_kib: int, wanted: int) -> int:
    """Never more than a quarter of it."""
    kib = (see.host.fields("/proc/meminfo").get(memory) or "").split()
    if not kib or not kib[0].isdigit():
        return wanted
    return min(wanted, int(kib[0]) // 4 // page_kib)


def _is_rarely_transparent(text: str) -> bool:
    chosen = re.search(r"\[(\w+)\]", text)
    if chosen is None:
        raise ValueError(text)
    return chosen[1] in ("never", "madvise")


def merging(see: View) -> Finding:
    """0 stops it and leaves merged pages; 2 also takes them apart. The whole machine feels it."""
    path = f"{_KSM}/run"
    text = see.choice(path, "0", "1", "2")
    merged = see.number(f"{_KSM}/pages_sharing") or 0
    observed = f"{path} = {text}" + (f", {merged} pages merged" if merged else "")
    return see.good_if(text != "1", observed)


def stop_merging(see: View) -> Iterable[Remedy]:
    """Stop who would start it again first."""
    running = [unit for unit in _KSM_UNITS if is_active(see, unit)]
    yield now(
        "stop page merging",
        *(Change(SystemdUnit(unit), "inactive") for unit in running),
        write(f"{_KSM}/run", "0"),
        cost="guests with equal pages need more memory",
    )
    if enabled := [unit for unit in _KSM_UNITS if starts_at_boot(see, unit)]:
        yield boot("at boot: no page merging", *(UnitState(unit, False) for unit in enabled))


def swap(see: View) -> Finding:
    """Without swap nothing else counts; with it, locked pollers and a reluctant kernel do."""
    if not see.text(_SWAPS).startswith("Filename"):
        see.odd(_SWAPS)
    areas = _areas(see)
    if not areas:
        return see.passed("no swap")
    observed = f"swap on {', '.join(areas)}"
    if used_mb := used_kb(see.host, areas) // 1024:
        observed += f" ({used_mb} MB of it in use)"
    if see.role is Role.CONTAINER and see.read(_SWAP_LIMIT) == "0":
        return see.passed(f"{observed}, {_SWAP_LIMIT} = 0")
    swappiness = see.number(_SWAPPINESS)
    observed += f", swappiness {'unreadable' if swappiness is None else swappiness}"
    if see.read("/sys/module/zswap/parameters/enabled") == "Y":
        observed += ", zswap before it"
    processes = see.situation.processes
    loose = [process for process in processes if not _is_locked(see, process)]
    if loose:
        observed += f", not locked: process {', '.join(map(str, loose))}"
    is_good = bool(processes) and not loose
    if is_good and swappiness is not None and swappiness <= _MOST_SWAPPINESS:
        return see.passed(f"{observed}, all pollers locked")
    return see.failed(observed)


def end_swap(see: View) -> Iterable[Remedy]:
    """Switch it off; keep the kernel from using what somebody switches on again."""
    areas = _areas(see)
    shortage = too_little_memory(see.host, areas)
    cost = "the cache of files shrinks before idle memory is swapped out"
    if areas and not shortage:
        yield now(
            f"switch off swap on {', '.join(areas)}",
            *(Change(SwapArea(path), "off") for path in areas),
            # The setting asks once more right before: not all memory is ours to fill.
            profile=EXTREME,
            risk="the kernel kills processes when memory runs out",
        )
    most = str(_MOST_SWAPPINESS)
    if (see.number(_SWAPPINESS) or 0) > _MOST_SWAPPINESS:
        yield now(f"swappiness {most}", write(_SWAPPINESS, most), id="now-2", cost=cost)
    yield boot(f"at boot: swappiness {most}", Sysctl("vm.swappiness", most), cost=cost)
    yield by_hand(
        "no swap at boot",
        (f"swapoff has no room now ({shortage}); " if shortage else "")
        + "take the swap lines out of /etc/fstab, or lock the poller's memory: "
        "mlockall(MCL_CURRENT | MCL_FUTURE)",
    )


def _areas(see: View) -> list[str]:
    """Give their paths; blanks show as octal escapes there."""
    lines = (see.read(_SWAPS) or "").splitlines()[1:]
    return [line.split()[0].replace("\\040", " ") for line in lines if line.split()]


def _is_locked(see: View, process: int) -> bool:
    """All that is in memory is locked; huge pages are in neither number."""
    path = f"/proc/{process}/status"
    fields = see.host.fields(path)
    locked_kb, resident_kb = (kb_in(fields.get(name)) for name in ("VmLck", "VmRSS"))
    if locked_kb is None or resident_kb is None:
        return not see.is_there(path)
    return locked_kb >= resident_kb


CHECKS = (
    Check(
        "K22",
        "huge pages are reserved",
        "Too few huge pages are reserved",
        MAJOR,
        huge_pages,
        "huge pages reserved, on the node of the traffic's network interface",
        roles=WITH_CONTAINERS,
        remedies=reserve_huge_pages,
        host_does="reserve huge pages and let the container have some",
        why="packet buffers on huge pages never fault and hardly miss the TLB; without a reserve "
        "they are found by compaction while programs run, or not at all",
        source="Intel NFV-I (2018); kernel-parameters.txt (hugepages=)",
    ),
    file_check(
        "K23",
        "no transparent huge pages",
        "Transparent huge pages are on",
        MAJOR,
        "/sys/kernel/mm/transparent_hugepage/enabled",
        _is_rarely_transparent,
        "never (or madvise)",
        roles=POLLING | {Role.HOUSEKEEPING},
        put="never",
        form="choice",
        boot_with=(KernelParameter("transparent_hugepage", "never"),),
        cost="programs with large heaps lose some throughput",
        why="khugepaged and compaction move pages under a running program: each move interrupts "
        "every core that runs it to flush its TLB (15 µs in a guest) and the next touch faults",
        source="tuned; rigtorp.se; Ducked Tails (2021); measured",
    ),
    Check(
        "R12",
        "page merging (KSM)",
        "Page merging (KSM) is on",
        MAJOR,
        merging,
        "0 or 2",
        roles=EVERYWHERE,
        remedies=stop_merging,
        host_does=f"write 0 to {_KSM}/run",
        why="merging write-protects pages: TLB shootdowns on every core of the process, and a "
        "fault with a copy at the next write",
        source="tuned",
    ),
    file_check(
        "R13",
        "NUMA balancing",
        "NUMA balancing is on",
        MAJOR,
        "/proc/sys/kernel/numa_balancing",
        lambda text: int(text) == 0,
        "0: off",
        roles=EVERYWHERE,
        put="0",
        boot_with=(KernelParameter("numa_balancing", "disable"),),
        cost="programs that are not pinned may use memory of the far node",
        why="to see who uses a page it takes the page's mapping away: every sweep costs page "
        "faults and TLB shootdowns on the application's cores",
        source="tuned; Intel NFV-I host configuration; rigtorp.se low latency guide",
    ),
    # vm.extfrag_threshold is for compaction somebody waits for: it moves none of this work.
    file_check(
        "R14",
        "proactive compaction",
        "Proactive compaction is on",
        MINOR,
        "/proc/sys/vm/compaction_proactiveness",
        lambda text: int(text) == 0,
        "0: off",
        roles=EVERYWHERE,
        put="0",
        boot_with=(Sysctl("vm.compaction_proactiveness", "0"),),
        risk="later allocations of huge pages may fail",
        why="moving a page shoots down its TLB entries on every core that runs the process, "
        "isolated ones too",
        source="Gallenmüller et al. 2021 and rigtorp.se (cause); value from general knowledge",
    ),
    Check(
        "R15",
        "swap",
        "Swap is on",
        CRITICAL,
        swap,
        "no swap, or every poller's memory locked and swappiness at most 10",
        roles=EVERYWHERE,
        remedies=end_swap,
        host_does="swapoff, or memory.swap.max 0 for this container",
        why="a page that comes back from disk stalls whoever touches it for milliseconds",
        source="tuned; cpu-isolation.rst; rigtorp.se low latency guide",
    ),
)
