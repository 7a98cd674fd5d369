"""A machine as a tree that apply changes and undo puts back."""

from pathlib import Path

from host_tree import TreeWriter, snapshot, tree
from taut.host.apply import Wish
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import (
    CpusetPartition,
    FileSetting,
    HeldLatency,
    PlacedFile,
    ThreadAffinity,
    ThreadScheduler,
)
from taut.host.undo import UndoReport, undo
from taut.host.writer import Writer

STAT_INTERVAL = "/proc/sys/vm/stat_interval"
SWAPPINESS = "/proc/sys/vm/swappiness"
MASK = "/proc/irq/24/smp_affinity"
CONF = "/etc/taut.d/deep/90-taut.conf"
BOOT = "/proc/sys/kernel/random/boot_id"
FILES = {
    "/etc/machine-id": "0123456789abcdef\n",
    BOOT: "first\n",
    STAT_INTERVAL: "1\n",
    SWAPPINESS: "60\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/proc/sys/vm/min_free_kbytes": "67584\n",
    MASK: "0000000f\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
    "/proc/irq/24/effective_affinity": "00000004\n",
    "/proc/50/stat": "50 (kswapd0) S " + "1 " * 18 + "99 0 0 " + "0 " * 15 + "0 0\n",
    "/proc/50/status": "Name:\tkswapd0\nCpus_allowed_list:\t0-3\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n",
    "/sys/fs/cgroup/cgroup.subtree_control": "cpu\n",
    "/etc/kept": "",
    "/run/kept": "",
    "/run/taut-host/kept": "",
    "/proc/4711/kept": "",
}
CHANGES = (
    Change(FileSetting(STAT_INTERVAL, "number"), "120"),
    Change(FileSetting("/sys/kernel/mm/transparent_hugepage/enabled", "choice"), "never"),
    Change(FileSetting(MASK, "mask", may_refuse=True), "1"),
    Change(ThreadAffinity(50, "kswapd0", 99), "0-1"),
    Change(ThreadScheduler(50, "kswapd0", 99), "fifo 2"),
    Change(CpusetPartition("taut"), "2-3"),
    Change(HeldLatency(), "0"),
    Change(PlacedFile(CONF), "vm.stat_interval = 120\n"),
    Change(FileSetting(SWAPPINESS, "number"), "10"),
)


def wishes(*changes: Change) -> list[Wish]:
    return [Wish(f"X{number:02}-now", change) for number, change in enumerate(changes or CHANGES)]


def machine(root: Path) -> tuple[Host, dict[str, bytes]]:
    host = tree(root, FILES)
    return host, machine_files(root)


def machine_files(root: Path) -> dict[str, bytes]:
    """Give everything but taut's own journal."""
    own = str(root / "var/lib/taut")
    return {path: text for path, text in snapshot(root).items() if not path.startswith(own)}


def take_back(host: Host, writer: Writer | None = None, *, force: bool = False) -> UndoReport:
    journal = Journal(host)
    with journal.locked():
        return undo(host, writer or TreeWriter(host), journal, force=force)
