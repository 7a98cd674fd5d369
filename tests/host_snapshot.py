"""All of this machine that apply may change, file by file, but what changes by itself."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.host.host import Host

INTERRUPTS = ("/proc/irq",)
TREES = (
    "/proc/sys",
    *INTERRUPTS,
    "/sys/kernel/mm",
    "/sys/devices/system/clocksource",
    "/sys/devices/system/cpu",
    "/sys/devices/system/machinecheck",
    "/sys/devices/system/node",
    "/sys/devices/virtual/workqueue",
    "/sys/fs/cgroup/cpuset",
    "/sys/fs/cgroup/unified",
    "/sys/module",
)
FILES = ("/proc/swaps", "/sys/kernel/rcu_normal", "/sys/kernel/rcu_expedited")
QUEUES = "/sys/class/net/*/queues/*/*"

# Every one was seen to change while nobody applied anything, or counts.
CHANGE_BY_THEMSELVES = (
    r"/proc/sys/fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr)",
    r"/proc/sys/fs/quota/.*",
    r"/proc/sys/kernel/(ns_last_pid|pty/nr)",
    r"/proc/sys/kernel/random/(uuid|entropy_avail)",
    r"/proc/sys/kernel/sched_domain/.*",
    r"/proc/sys/net/netfilter/nf_conntrack_count",
    # Reading asks a counter, or makes a new secret.
    r"/proc/sys/net/ipv4/tcp_fastopen_key",
    r"/proc/irq/\d+/spurious",
    r"/sys/kernel/mm/ksm/(?!run|sleep|pages_to_scan).*",
    r"/sys/kernel/mm/(lru_gen|numa|page_idle)/.*",
    r"/sys/kernel/mm/transparent_hugepage/khugepaged/(pages_collapsed|full_scans)",
    r"/sys/kernel/mm/.*/stats/.*",
    # Its monitor finds the regions itself.
    r"/sys/kernel/mm/damon/.*/regions/.*",
    r"/sys/devices/system/cpu/cpu\d+/cpuidle/state\d+/(usage|time|above|below|rejected)",
    r"/sys/devices/system/cpu/.*/(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq)",
    r"/sys/devices/system/cpu/.*/(aperf|mperf|core_throttle_.*|package_throttle_.*)",
    r"/sys/devices/system/node/node\d+/(meminfo|numastat|vmstat)",
    r"/sys/devices/system/node/.*/(free|surplus)_hugepages",
    r"/sys/kernel/mm/hugepages/.*/(free|resv|surplus)_hugepages",
    r"/sys/fs/cgroup/.*/?(tasks|cgroup\.procs|cgroup\.threads|cpuset\.memory_pressure)",
    r"/sys/fs/cgroup/.*/?(cgroup\.stat|cpu\.stat(\.local)?|.*\.pressure|memory\..*|pids\..*)",
    r"/sys/module/page_reporting/parameters/(passes|reported_kib|walked)",
    r"/sys/module/[^/]+/(refcnt|initstate|sections/.*|notes/.*)",
    r"/sys/.*/power/(runtime_.*|wakeup_.*)",
)
_ITSELF = re.compile("|".join(CHANGE_BY_THEMSELVES))
# Links of other programs come and go.
_OF_A_LINK = re.compile(r"/(?:proc/sys/net/[^/]+/(?:conf|neigh)|sys/class/net)/([^/]+)/.*")


def snapshot(trees: Sequence[str] = TREES) -> dict[str, bytes]:
    """Give every readable file of these trees, and some, that does not change by itself."""
    found = {}
    for path in _paths(trees):
        if _ITSELF.fullmatch(path):
            continue
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            found[path] = os.read(descriptor, 1 << 20)
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return found


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Give the paths that differ, but of links that are only in one of both."""
    links = [{link(path) for path in tree} for tree in (before, after)]
    comparable = links[0] & links[1]
    return sorted(
        f"{path}: {before.get(path)!r} {after.get(path)!r}"
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and link(path) in comparable
    )


def link(path: str) -> str | None:
    """Name the network interface a path is of."""
    found = _OF_A_LINK.fullmatch(path)
    return found[1] if found else None


def _paths(trees: Sequence[str]) -> Iterator[str]:
    for tree in trees:
        for folder, _, names in os.walk(tree):
            yield from (f"{folder}/{name}" for name in names)
    yield from FILES
    yield from Host().paths(QUEUES)


def left_after_undo(before: dict[str, bytes], said: str) -> list[str]:
    """Give what undo, which said so, left different, but interrupts it names."""
    return _settled(lambda: but_named(differences(before, snapshot()), said))


def left_different(before: dict[str, bytes]) -> list[str]:
    """Give what differs now, but the cores of interrupts: some have not fired since."""

    def look() -> list[str]:
        found = differences(before, snapshot())
        return [text for text in found if "/effective_affinity" not in text]

    return _settled(look)


def _settled(look: Callable[[], list[str]], settle_s: float = 20.0) -> list[str]:
    """Look again for a while if only masks of interrupts differ; what is wrong stays wrong.

    The kernel carries out a new mask when the interrupt next fires, and shows the old one while it
    does.
    """
    first = left = look()
    end = time.monotonic() + settle_s
    while left and all(text.startswith("/proc/irq/") for text in left) and time.monotonic() < end:
        time.sleep(0.1)
        left = look()
    return left and [*left, f"at first: {first}"]


def but_named(differing: list[str], said: str) -> list[str]:
    """Leave out interrupts of which undo says that they did not fire, so could not move back."""
    named = re.findall(
        r"interrupt (\d+): its mask is as before, its core not", " ".join(said.split())
    )
    files = tuple(f"/proc/irq/{number}/effective_affinity" for number in named)
    return [text for text in differing if not files or not text.startswith(files)]


def affinities(
    threads: dict[tuple[int, str], CpuSet] | None = None,
) -> dict[tuple[int, str], CpuSet]:
    """Give the cores of every thread by number and start, or again of those given that still live.

    A thread started later may have inherited its cores, so it cannot be compared.
    """
    found = {}
    for stat in map(Path, Host().paths("/proc/[0-9]*/task/[0-9]*/stat")):
        try:
            number, started = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()[19]
            if threads is None or (number, started) in threads:
                found[number, started] = tuple(sorted(os.sched_getaffinity(number)))
        except (OSError, IndexError):
            continue
    return found
