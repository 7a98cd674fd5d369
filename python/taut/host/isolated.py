"""Which cores the scheduler leaves alone, as far as this machine tells."""

from dataclasses import dataclass

from taut.core.cpus import CpuSet, cores_in, format_cpu_list
from taut.host.host import Host

BOOT = "/sys/devices/system/cpu/isolated"

# Version 2 alone, or beside version 1 (systemd's hybrid).
_UNIFIED = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_VERSION_1 = "/sys/fs/cgroup/cpuset"
# A domain of the scheduler per line, below each cpu line (Documentation/scheduler/sched-stats.rst).
_SCHEDSTAT = "/proc/schedstat"


@dataclass(frozen=True)
class Isolated:
    """Where cores are set apart, and what is wrong with partitions that do not."""

    boot: CpuSet
    partitions: CpuSet
    broken: tuple[str, ...] = ()
    """`/taut: isolated invalid (...)`."""

    @property
    def cores(self) -> CpuSet:
        return tuple(sorted({*self.boot, *self.partitions}))

    def __str__(self) -> str:
        boot, partitions = (format_cpu_list(c) or "none" for c in (self.boot, self.partitions))
        parts = [f"isolated at boot: {boot}, by cpusets: {partitions}"]
        return "; ".join([*parts, *self.broken])


def isolated(host: Host) -> Isolated | None:
    """Read which cores are isolated at boot and by cpusets; None where the kernel tells neither."""
    boot = cores_in(host.read(BOOT))
    found = _without_domain(host)
    broken: list[str] = []
    is_told = boot is not None
    for root in _UNIFIED:
        cores = cores_in(host.read(f"{root}/cpuset.cpus.isolated"))
        is_told = is_told or cores is not None
        valid, invalid = _partitions(host, root)
        found.update(cores or valid)
        broken += invalid
    found.update(_unbalanced(host))
    # Those of the boot have no domain either, and newer kernels list them beside partitions' own.
    found.difference_update(boot or ())
    return Isolated(boot or (), tuple(sorted(found)), tuple(broken)) if is_told else None


def _partitions(host: Host, root: str) -> tuple[set[int], list[str]]:
    """Read the partitions one by one: kernels before 6.7 do not sum them up."""
    valid: set[int] = set()
    invalid = []
    for depth in ("*", "*/*"):
        for path in host.paths(f"{root}/{depth}/cpuset.cpus.partition"):
            state = host.read(path) or ""
            folder = path.rpartition("/")[0]
            if state == "isolated":
                cores = cores_in(host.read(f"{folder}/cpuset.cpus.effective"))
                valid.update(cores or cores_in(host.read(f"{folder}/cpuset.cpus")) or ())
            elif "invalid" in state:
                invalid.append(f"{folder.removeprefix(root)}: {state[:80]}")
    return valid, invalid


def _unbalanced(host: Host) -> set[int]:
    """Give the cores that neither the root group of version 1 nor a group of theirs balances."""
    everything = cores_in(host.read(f"{_VERSION_1}/cpuset.cpus"))
    if host.read(f"{_VERSION_1}/cpuset.sched_load_balance") != "0" or not everything:
        return set()
    left = set(everything)
    for depth in ("*", "*/*", "*/*/*"):
        for path in host.paths(f"{_VERSION_1}/{depth}/cpuset.sched_load_balance"):
            if host.read(path) != "0":
                balanced = cores_in(host.read(f"{path.rpartition('/')[0]}/cpuset.cpus"))
                left.difference_update(balanced or ())
    return left


def _without_domain(host: Host) -> set[int]:
    """Cores without a scheduling domain, if other cores have one."""
    alone: set[int] = set()
    with_domain = 0
    core: int | None = None
    for line in (host.read(_SCHEDSTAT) or "").splitlines():
        word = line.partition(" ")[0]
        if word.startswith("cpu") and word[3:].isdigit():
            core = int(word[3:])
            alone.add(core)
        elif word.startswith("domain") and core is not None:
            with_domain += core in alone
            alone.discard(core)
    return alone if with_domain else set()
