"""Finds the processes that poll on this machine: forwarders, DPDK programs, switches, storage.

Programs that a run of taut started, and taut's own, do not count: they end with the trial, and an
audit during it would judge another machine than one made a second later.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taut.core.cpus import CpuSet, cores_in
from taut.host.host import Host

# What EAL calls its workers (DPDK 22.11: rte-worker-N; before lcore-worker-N, then dpdk-worker-N).
_WORKER = re.compile(r"(rte|lcore|dpdk)-worker")
# What programs call theirs whose other threads wait, though these may be pinned as well: Open
# vSwitch (pmd-c02/id:8; once pmd8), VPP (vpp_wk_0) and SPDK (reactor_2).
_NAMED = re.compile(r"pmd(-c)?\d+(/id:.*)?$|vpp_wk_\d|reactor_\d")
# Threads of EAL and of memif that wait, not poll.
_WAITS = re.compile(r"(eal-|rte_mp|dpdk-intr|dpdk-mp|rte-intr|rte-mp|telemetry|memif|iou-)")
_PROGRAMS = ("taut-forward", "dpdk-", "vpp_main")
_INSTRUMENTS = ("taut-generate", "taut-noise", "taut-inject", "taut-trace")
_OF_A_RUN = "TAUT_RUN="
"""In the environment of every program that a run starts (testbed/scope.py)."""


@dataclass(frozen=True)
class Polling:
    """Processes that poll, and the cores their threads are pinned to one by one."""

    processes: tuple[int, ...]
    cores: CpuSet


def find_polling(host: Host) -> Polling:
    """Look at every process."""
    processes: list[int] = []
    cores: set[int] = set()
    for process in _processes(host):
        threads = dict(_threads(host, process))
        name = host.read(f"/proc/{process}/comm") or ""
        if name.startswith(_INSTRUMENTS):
            continue
        named = {thread for thread, comm in threads.items() if _NAMED.match(comm)}
        has_worker = bool(named) or any(map(_WORKER.match, threads.values()))
        if not name.startswith(_PROGRAMS) and not has_worker:
            continue
        if _is_of_a_run(host, process):
            continue
        processes.append(process)
        for thread, comm in threads.items():
            allowed = _allowed(host, process, thread)
            polls = thread in named if named else not _WAITS.match(comm)
            if len(allowed) == 1 and polls:
                cores.update(allowed)
    return Polling(tuple(processes), tuple(sorted(cores)))


def _processes(host: Host) -> list[int]:
    return sorted(int(name) for name in host.names("/proc") if name.isdigit())


def _is_of_a_run(host: Host, process: int) -> bool:
    words = (host.read(f"/proc/{process}/environ") or "").split("\0")
    return any(word.startswith(_OF_A_RUN) for word in words)


def _threads(host: Host, process: int) -> Iterator[tuple[int, str]]:
    for name in host.names(f"/proc/{process}/task"):
        if name.isdigit():
            yield int(name), host.read(f"/proc/{process}/task/{name}/comm") or ""


def _allowed(host: Host, process: int, thread: int) -> CpuSet:
    fields = host.fields(f"/proc/{process}/task/{thread}/status")
    return cores_in(fields.get("Cpus_allowed_list")) or ()
