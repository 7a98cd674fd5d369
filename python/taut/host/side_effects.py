"""What the kernel changes by itself when a setting is written, so that undo restores it too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taut.host.host import Host
from taut.host.setting import Setting
from taut.host.settings.cpuset_partition import CpusetController, CpusetPartition
from taut.host.settings.ethtool import EthtoolSetting, ethtool_options
from taut.host.settings.file import FileSetting
from taut.host.settings.irq_placement import IrqPlacement
from taut.host.settings.placed_file import PlacedFile
from taut.host.settings.placed_folder import PlacedFolder
from taut.host.settings.thread_affinity import ThreadAffinity

_CPU = "/sys/devices/system/cpu"
_POLICIES = f"{_CPU}/cpufreq/policy*"
_POLICY = rf"({_CPU}/cpufreq/policy\d+|{_CPU}/cpu\d+/cpufreq)"
# The kernel frees those of a governor, of a policy or of all, with the last policy that leaves it.
_TUNABLES = ("ondemand/*", "conservative/*", "schedutil/*")
# Of the governor userspace; there under each other, too.
_SPEED = "scaling_setspeed"
_NO_SPEED = "<unsupported>"
_CORES_GO = rf"{_CPU}/(?:smt/control|cpu\d+/online)"
# Cpusets of cgroup v1 and groups of resctrl lose a core that goes offline for good; a policy of it
# alone begins anew when it is back, but for the governor's name.
_LOST_WITH_CORES = (
    "/sys/fs/cgroup/cpuset/*/cpuset.cpus",
    "/sys/fs/cgroup/cpuset/*/*/cpuset.cpus",
    "/sys/fs/resctrl/*/cpus",
    "/sys/fs/resctrl/mon_groups/*/cpus",
    "/sys/fs/resctrl/*/mon_groups/*/cpus",
    *(f"{_POLICIES}/{name}" for name in ("boost", *_TUNABLES, _SPEED)),
)
_QUEUE_FILES = ("rx-*/rps_cpus", "rx-*/rps_flow_cnt", "tx-*/xps_cpus", "tx-*/xps_rxqs")


@dataclass(frozen=True)
class Rule:
    """A pattern of files, and of those that change with them; {1} is the first group matched."""

    path: str
    others: Sequence[str]
    interrupts: bool = False
    """Whether the masks of interrupts, which no pattern names, may change as well."""


RULES = (
    # mm/khugepaged.c: set_recommended_min_free_kbytes().
    Rule(r"/sys/kernel/mm/transparent_hugepage/enabled", ["/proc/sys/vm/min_free_kbytes"]),
    # kernel/watchdog.c: `watchdog` is both others.
    Rule(
        r"/proc/sys/kernel/(nmi_|soft_|)watchdog",
        [
            "/proc/sys/kernel/watchdog",
            "/proc/sys/kernel/nmi_watchdog",
            "/proc/sys/kernel/soft_watchdog",
        ],
    ),
    # mm/page-writeback.c: setting one makes the other 0.
    Rule(
        r"/proc/sys/vm/dirty_(|background_)(?:ratio|bytes)",
        ["/proc/sys/vm/dirty_{1}ratio", "/proc/sys/vm/dirty_{1}bytes"],
    ),
    # Pages come from all nodes in turn and go to them in turn.
    Rule(
        r"/proc/sys/vm/nr_hugepages",
        ["/sys/devices/system/node/node*/hugepages/*/nr_hugepages"],
    ),
    Rule(
        r"/sys/kernel/mm/hugepages/([^/]+)/nr_hugepages",
        ["/sys/devices/system/node/node*/hugepages/{1}/nr_hugepages"],
    ),
    # Another driver starts from its defaults.
    Rule(
        rf"{_CPU}/(?:intel_pstate|amd_pstate)/status",
        [
            f"{_CPU}/intel_pstate/no_turbo",
            f"{_CPU}/intel_pstate/max_perf_pct",
            f"{_CPU}/intel_pstate/min_perf_pct",
            f"{_CPU}/cpufreq/boost",
            f"{_POLICIES}/boost",
            f"{_POLICIES}/scaling_governor",
            f"{_POLICIES}/energy_performance_preference",
            f"{_POLICIES}/scaling_max_freq",
            f"{_POLICIES}/scaling_min_freq",
            *(f"{_CPU}/cpufreq/{name}" for name in _TUNABLES),
            *(f"{_POLICIES}/{name}" for name in (*_TUNABLES, _SPEED)),
        ],
    ),
    # drivers/cpufreq/cpufreq_userspace.c: it begins with the frequency there is.
    Rule(
        rf"{_POLICY}/scaling_governor",
        [
            "{1}/energy_performance_preference",
            "{1}/scaling_max_freq",
            "{1}/scaling_min_freq",
            *(f"{_CPU}/cpufreq/{name}" for name in _TUNABLES),
            *(f"{{1}}/{name}" for name in (*_TUNABLES, _SPEED)),
        ],
    ),
    # The limits hold for what is read there.
    Rule(rf"{_POLICY}/scaling_(?:max|min)_freq", [f"{{1}}/{_SPEED}"]),
    # drivers/cpufreq/intel_pstate.c: without turbo the lowest share is at most what is left;
    # cpufreq.c: the boost of all becomes that of each.
    Rule(
        rf"{_CPU}/(?:intel_pstate/no_turbo|cpufreq/boost)",
        [
            f"{_CPU}/intel_pstate/min_perf_pct",
            f"{_POLICIES}/boost",
            f"{_POLICIES}/scaling_max_freq",
            f"{_POLICIES}/scaling_min_freq",
            f"{_POLICIES}/{_SPEED}",
        ],
    ),
    # drivers/pci/pcie/aspm.c: L1 takes its substates with it, and comes back with any of them.
    Rule(r"(/.*/link)/l1(?:_\d)?_(?:aspm|pcipm)", ["{1}/l1_*"]),
    # kernel/cpu.c: `on` brings back siblings that were offline one by one, too.
    Rule(rf"{_CPU}/smt/control", [f"{_CPU}/cpu*/online", *_LOST_WITH_CORES], interrupts=True),
    # Masks lose a core that goes offline as well.
    Rule(_CORES_GO, _LOST_WITH_CORES, interrupts=True),
)


def side_effects(host: Host, setting: Setting) -> Sequence[Setting]:
    """Settings that may change with one, in the order they are restored after it."""
    rule = _BY_KIND.get(setting.kind)
    return [other for other in rule(host, setting) if other != setting] if rule else []


def takes_cores(setting: Setting) -> bool:
    """Whether a setting takes cores away: the kernel then removes them from masks and affinities.

    Those are too many to keep with each such change. Since 6.2 the kernel itself restores them;
    before, threads of child cpusets end with all cores of their group (HW03).
    """
    if isinstance(setting, FileSetting):
        return re.fullmatch(_CORES_GO, setting.path) is not None
    return isinstance(setting, CpusetPartition | CpusetController)


def is_of_cores(setting: Setting) -> bool:
    """Whether a setting's value is a set of cores."""
    if isinstance(setting, FileSetting):
        return setting.form in ("mask", "list")
    return isinstance(setting, ThreadAffinity | IrqPlacement | CpusetPartition)


def _of_file(host: Host, setting: Setting) -> list[Setting]:
    if not isinstance(setting, FileSetting):
        return []
    interrupt = re.fullmatch(r"/proc/irq/(\d+)/smp_affinity(?:_list)?", setting.path)
    if interrupt:
        return [IrqPlacement(int(interrupt[1]))]
    for rule in RULES:
        match = re.fullmatch(rule.path, setting.path)
        if match:
            patterns = [
                other.replace("{1}", match[1] if match.re.groups else "") for other in rule.others
            ]
            found = [path for pattern in patterns for path in _with_value(host, pattern)]
            moved = _interrupts(host) if rule.interrupts else []
            return [*(FileSetting(path) for path in found if path != setting.path), *moved]
    return []


def _of_ethtool(host: Host, setting: Setting) -> list[Setting]:
    if not isinstance(setting, EthtoolSetting):
        return []
    name, group = setting.interface, setting.group
    others = [EthtoolSetting(name, group, option) for option in ethtool_options(host, name, group)]
    if group != "channels":
        return list(others)
    folder = f"/sys/class/net/{name}/queues"
    files = [path for file in _QUEUE_FILES for path in host.paths(f"{folder}/{file}")]
    return [*others, *(FileSetting(path, "mask") for path in files), *_interrupts(host)]


def _of_cpuset(host: Host, setting: Setting) -> list[Setting]:  # noqa: ARG001 - as the others
    balance = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance"
    files = [FileSetting(path) for path in _existing(host, balance)]
    return [CpusetController(), *files]


def _of_placed_file(host: Host, setting: Setting) -> list[Setting]:
    """The name it is written under first, and the folders that were not there."""
    if not isinstance(setting, PlacedFile):
        return []
    folder, _, name = setting.path.rpartition("/")
    found: list[Setting] = [PlacedFile(f"{folder}/.{name}.taut")]
    while folder and not host.is_there(folder):
        found.append(PlacedFolder(folder))
        folder = folder.rpartition("/")[0]
    return found


def _interrupts(host: Host) -> list[IrqPlacement]:
    return [IrqPlacement(int(name)) for name in host.names("/proc/irq") if name.isdigit()]


def _with_value(host: Host, pattern: str) -> list[str]:
    """Leave out what has none now: a speed nobody sets, a policy whose cores are offline."""
    return [path for path in _existing(host, pattern) if host.read(path) not in (None, _NO_SPEED)]


def _existing(host: Host, pattern: str) -> list[str]:
    if "*" in pattern:
        return host.paths(pattern)
    return [pattern] if host.is_there(pattern) else []


_BY_KIND: dict[str, Callable[[Host, Setting], list[Setting]]] = {
    FileSetting.kind: _of_file,
    EthtoolSetting.kind: _of_ethtool,
    CpusetPartition.kind: _of_cpuset,
    PlacedFile.kind: _of_placed_file,
}
