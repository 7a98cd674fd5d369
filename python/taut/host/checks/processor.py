"""Checks of the processor: siblings, nodes, mitigations and how it flushes its TLB."""

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.boot.item import SysfsValue
from taut.host.check import Finding, Remedy, unreadable
from taut.host.checks._platform import count, hidden, nics
from taut.host.isolated import isolated
from taut.host.settings.cpuset_partition import has_child_cpusets
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    EVERYWHERE,
    MAJOR,
    MINOR,
    NOTE,
    WITH_CONTAINERS,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.view import CPU, NAME_CORES, WATCH, CannotJudge, View

_ACTIVE = f"{CPU}/smt/active"
_STAT = "/proc/stat"
_IDLE = 0.01
"""A sibling may be busy for this share of its time with the kernel's own housekeeping."""
_NODES = "/sys/devices/system/node"
_VULNERABILITIES = f"{CPU}/vulnerabilities"
_INVLPGB_SINCE = (6, 15)
"""The kernel that began to use AMD's INVLPGB."""
_PINS_LAST_SINCE = (6, 2)
"""The kernel from which on a thread's own choice of cores outlives what happens to its cpuset."""
_PINS_LOST = (
    "before Linux 6.2 all threads in child cpusets (of containers) forget the cores they are "
    "pinned to"
)
_ZEN_3 = 0x19
"""Family of AMD's Zen 3, the first with INVLPGB."""


def siblings(see: View) -> Finding:
    """Look for siblings that are online, and at what they do."""
    active = see.read(_ACTIVE)
    if see.is_guest:
        hidden(see, "SMT siblings" if active is None else f"smt/active = {active}")
    if active == "0":
        return see.passed("SMT is off")
    shared = {}
    for core in see.judged:
        others = _siblings(see, core)
        if others is None:
            _no_siblings(see)
        if others:
            shared[core] = others
    if not see.judged:
        _no_siblings(see)
    if not shared:
        return see.passed("no core has a sibling that is online")
    if not see.cores:
        see.cannot_tell(f"SMT is on: cores {format_cpu_list(shared)} have siblings", NAME_CORES)
    return _judge_siblings(see, shared)


def _no_siblings(see: View) -> NoReturn:
    observed = f"{_ACTIVE}: {see.text(_ACTIVE)[:60]!r}, and no list of siblings"
    see.cannot_tell(observed, f"{CPU}/cpuN/topology/thread_siblings_list")


def _judge_siblings(see: View, shared: Mapping[int, CpuSet]) -> Finding:
    alone = isolated(see.host)
    set_apart = alone.cores if alone else ()
    bad, unsure, hit = [], [], []
    for core, other in ((core, other) for core, others in shared.items() for other in others):
        busy = _busy(see, other)
        if other in see.cores:
            bad.append(f"{core} and {other} both poll")
        elif other not in set_apart:
            bad.append(f"{other}, sibling of {core}, is not isolated")
        elif busy is None:
            unsure.append(other)
            continue
        elif busy > _IDLE:
            bad.append(f"{other}, sibling of {core}, is busy {100 * busy:.0f} % of the time")
        else:
            continue
        hit.append(core)
    if bad:
        return see.failed("; ".join(bad), tuple(dict.fromkeys(hit)))
    if unsure:
        observed = f"siblings {format_cpu_list(unsure)} are isolated; idle or not was not watched"
        see.cannot_tell(observed, WATCH)
    return see.passed("siblings of poll cores are isolated and idle", tuple(shared))


def _siblings(see: View, core: int) -> CpuSet | None:
    """Other threads of a core that run; None: the machine does not tell."""
    found = see.list_of_cores(f"{CPU}/cpu{core}/topology/thread_siblings_list")
    if not found:
        return None
    return tuple(
        other for other in found if other != core and see.read(f"{CPU}/cpu{other}/online") != "0"
    )


def _busy(see: View, core: int) -> float | None:
    before = _times(see.watched.before.get(_STAT, ""), core)
    after = _times(see.watched.after.get(_STAT, ""), core)
    if before is None or after is None or sum(after) <= sum(before):
        return None
    # Columns 4 and 5 are idle and waiting for I/O (proc(5)).
    idle = sum(after[3:5]) - sum(before[3:5])
    return 1 - idle / (sum(after) - sum(before))


def _times(text: str, core: int) -> list[int] | None:
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        words = rest.split()[:8]
        if name == f"cpu{core}" and len(words) == 8 and all(word.isdecimal() for word in words):
            return [int(word) for word in words]
    return None


def part_siblings(see: View) -> Iterable[Remedy]:
    """Take the siblings offline, unless somebody set them apart; the other cores keep theirs."""
    others = {
        sibling
        for core in see.cores
        for sibling in _siblings(see, core) or ()
        if sibling not in {*see.cores, *see.situation.apart}
    }
    paths = [f"{CPU}/cpu{core}/online" for core in sorted(others)]
    leaves_some = set(see.housekeeping) - others
    if not paths or not leaves_some or not all(see.is_there(path) for path in paths):
        yield by_hand(
            "poll on one thread of a core only",
            "choose --cores so that none is the sibling of another, of a core set apart for "
            "something else, or of the last housekeeping core; or switch SMT off: "
            "echo off > /sys/devices/system/cpu/smt/control, nosmt at boot, or in the BIOS",
        )
        return
    summary = f"take cores {format_cpu_list(sorted(others))} offline, siblings of poll cores"
    cost = "20 to 30 % of what both threads of such a core do together"
    risk = (
        "interrupts, threads and version 1 cpusets leave a core that goes offline, and do not "
        f"all come back with it; {_PINS_LOST}"
    )
    are_lost = see.machine.kernel < _PINS_LAST_SINCE and has_child_cpusets(see.host)
    by_name = _PINS_LOST if are_lost else ""
    changes = (write(path, "0") for path in paths)
    yield now(summary, *changes, risk=risk, cost=cost, by_name=by_name)
    yield boot(summary, *(SysfsValue(path, "0") for path in paths), cost=cost)


def locality(see: View) -> Finding:
    """Compare the nodes of cores, devices and pages."""
    nodes = {node: cores_in(see.read(f"{_NODES}/node{node}/cpulist")) for node in _nodes(see)}
    if len(nodes) < 2:
        if not nodes and not see.is_there(CPU):
            see.cannot_tell(f"no {_NODES}", "a mounted /sys")
        return see.passed("one NUMA node")
    if not see.cores:
        see.cannot_tell(f"{len(nodes)} nodes", NAME_CORES)
    of_core = {core: node for node, cores in nodes.items() for core in cores or ()}
    if absent := [core for core in see.cores if core not in of_core]:
        see.cannot_tell(f"no node of cores {format_cpu_list(absent)}", f"{_NODES}/nodeN/cpulist")
    return _judge_locality(see, {core: of_core[core] for core in see.cores})


def _judge_locality(see: View, of_core: Mapping[int, int]) -> Finding:
    of_nic = {nic.name: _node_of(see, nic.folder) for nic in nics(see)}
    known = {node for node in of_nic.values() if node is not None}
    places = [f"core {core} on node {node}" for core, node in of_core.items()]
    places += [f"{name} on {_named(node)}" for name, node in of_nic.items()]
    # Cores on whose node there is no NIC, where there is one elsewhere.
    far = tuple(core for core, node in of_core.items() if known and node not in known)
    bare = [node for node in set(of_core.values()) if _pages(see, node) == 0]
    if bare and any(_pages(see, node) for node in _nodes(see)):
        places += [f"no hugepages on node {node}" for node in bare]
        far = far or tuple(core for core, node in of_core.items() if node in bare)
    observed = "; ".join(places)
    if far:
        return see.failed(observed, far)
    if not known:
        needs = "a NIC whose firmware names its node, or its name with --interface"
        see.cannot_tell(observed, needs)
    return see.passed(observed, see.cores)


def _named(node: int | None) -> str:
    return "no known node" if node is None else f"node {node}"


def _nodes(see: View) -> list[int]:
    found = [re.fullmatch(r"node([0-9]{1,5})", name) for name in see.names(_NODES)]
    return [int(match[1]) for match in found if match]


def _node_of(see: View, folder: str) -> int | None:
    """Give a device's node (a virtio device's is one folder up); -1: firmware does not tell."""
    own, parent = see.read(f"{folder}/numa_node"), see.read(f"{folder}/../numa_node")
    return count(own if own is not None else parent)


def _pages(see: View, node: int) -> int:
    paths = see.paths(f"{_NODES}/node{node}/hugepages/*/nr_hugepages")
    return sum(count(see.read(path)) or 0 for path in paths)


def mitigations(see: View) -> Finding:
    """Count what is mitigated, what is not, and what need not be."""
    texts = {name: see.read(f"{_VULNERABILITIES}/{name}") or "" for name in _vulnerabilities(see)}
    mitigated = [name for name, text in texts.items() if text.startswith("Mitigation")]
    open_ones = [name for name, text in texts.items() if text.startswith("Vulnerable")]
    fine = sum(text.startswith("Not affected") for text in texts.values())
    parts = [
        f"mitigated: {' '.join(mitigated) or 'none'}",
        f"vulnerable: {' '.join(open_ones) or 'none'}",
        f"not affected: {fine}",
    ]
    if other := len(texts) - len(mitigated) - len(open_ones) - fine:
        parts.append(f"not known: {other}")
    return see.passed("; ".join(parts))


def _vulnerabilities(see: View) -> list[str]:
    if names := see.names(_VULNERABILITIES):
        return names
    raise CannotJudge(unreadable(see.host, _VULNERABILITIES))


def tlb_broadcast(see: View) -> Finding:
    """Say what this processor and kernel do."""
    machine = see.machine
    if machine.vendor == "arm":
        return see.passed("ARM: TLBI reaches all cores without interrupts")
    if machine.vendor == "other":
        see.cannot_tell("processor not recognised", "a readable /proc/cpuinfo")
    if machine.vendor == "intel":
        pv = " (a preempted vCPU later, with PV TLB flush)" if see.is_guest else ""
        return see.passed(f"Intel: flushes interrupt the other cores{pv}")
    if "invlpgb" in machine.flags:
        return see.passed("AMD with INVLPGB: long-lived processes need no interrupts")
    if machine.kernel < _INVLPGB_SINCE or machine.family < _ZEN_3:
        return see.passed("AMD without INVLPGB: flushes interrupt the other cores")
    # The kernel uses it and does not list it among the flags.
    needs = "as root: cpuid -1 -l 0x80000008, EBX bit 3 (INVLPGB)"
    return see.unknown("AMD: /proc/cpuinfo does not tell of INVLPGB", needs)


CHECKS = (
    Check(
        "HW03",
        "SMT siblings",
        "SMT siblings of poll cores are online",
        MAJOR,
        siblings,
        "SMT off, or the siblings of poll cores offline, or isolated and idle",
        roles=WITH_CONTAINERS,
        watches=(_STAT,),
        remedies=part_siblings,
        host_does="take the siblings of the poll cores offline",
        why="the sibling thread shares caches and execution units: contention for them slows the "
        "poller in a way that no tracepoint shows",
        source="Gallenmueller et al., Ducked Tails (2021); cpu-isolation.rst; "
        "kernel-parameters.txt",
    ),
    Check(
        "HW11",
        "NUMA locality",
        "Memory or devices are on another NUMA node",
        MINOR,
        locality,
        "poll cores, NICs and hugepages on one node",
        roles=BARE | {Role.CONTAINER},
        remedies=by_hand(
            "poll on the NIC's node",
            "choose --cores from /sys/class/net/NIC/device/local_cpulist, and put "
            "hugepages there: echo N > /sys/devices/system/node/nodeX/hugepages/"
            "hugepages-2048kB/nr_hugepages; in the BIOS: node interleaving off",
        ),
        why="memory and devices of another socket are about 100 ns further away per access, and "
        "the way there is shared",
        source="Intel NFV-I host configuration (2018); cpu-isolation.rst; size not verified",
    ),
    Check(
        "HW14",
        "mitigations",
        "",
        NOTE,
        mitigations,
        "nothing: reported only",
        roles=EVERYWHERE,
        why="mitigations make system calls and VM exits dearer; a pure poll loop makes neither, so "
        "taut reports them and never proposes to give them up",
        source="kernel-parameters.txt",
    ),
    Check(
        "HW15",
        "TLB flush without interrupts",
        "",
        NOTE,
        tlb_broadcast,
        "nothing: it decides how much A05 matters",
        roles=EVERYWHERE,
        why="where the processor cannot flush other cores' TLBs by itself, every munmap of a "
        "process interrupts all cores it runs on: 1 to 15 µs (A05)",
        source="Linux commit 82378c6c2f43 (INVLPGB, 2025); measured on the development machine",
    ),
)
