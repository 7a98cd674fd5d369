from pathlib import Path

import pytest

from host_tree import tree
from taut.host.setting import Setting
from taut.host.settings import (
    CpusetPartition,
    EthtoolSetting,
    FileSetting,
    PlacedFile,
    SystemdUnit,
)
from taut.host.side_effects import side_effects

CPU = "/sys/devices/system/cpu"
POLICY = f"{CPU}/cpufreq/policy0"
NODE = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages"
FILES = dict.fromkeys(
    (
        "/proc/sys/vm/min_free_kbytes",
        "/proc/sys/kernel/watchdog",
        "/proc/sys/kernel/nmi_watchdog",
        "/proc/sys/kernel/soft_watchdog",
        "/proc/sys/vm/dirty_background_ratio",
        "/proc/sys/vm/dirty_background_bytes",
        "/proc/sys/vm/dirty_ratio",
        NODE.format(0),
        NODE.format(1),
        f"{POLICY}/scaling_governor",
        f"{POLICY}/scaling_max_freq",
        "/proc/irq/24/smp_affinity",
        "/proc/irq/25/smp_affinity",
        "/sys/class/net/eth0/queues/rx-0/rps_cpus",
        "/etc/kept",
    ),
    "0\n",
) | {"/commands/ethtool -l eth0": "Current hardware settings:\nRX:\t4\nCombined:\t4\n"}


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        (FileSetting("/proc/sys/vm/swappiness"), []),
        (SystemdUnit("irqbalance.service"), []),
        (FileSetting("/proc/irq/24/smp_affinity_list", "list"), ["core of interrupt 24"]),
        (
            FileSetting("/sys/kernel/mm/transparent_hugepage/enabled", "choice"),
            ["/proc/sys/vm/min_free_kbytes"],
        ),
        (
            FileSetting("/proc/sys/kernel/watchdog", "number"),
            ["/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel/soft_watchdog"],
        ),
        (
            FileSetting("/proc/sys/vm/dirty_background_bytes", "number"),
            ["/proc/sys/vm/dirty_background_ratio"],
        ),
        (FileSetting("/proc/sys/vm/dirty_bytes", "number"), ["/proc/sys/vm/dirty_ratio"]),
        (FileSetting("/proc/sys/vm/nr_hugepages"), [NODE.format(0), NODE.format(1)]),
        (
            FileSetting("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
            [NODE.format(0), NODE.format(1)],
        ),
        (FileSetting(f"{POLICY}/scaling_governor"), [f"{POLICY}/scaling_max_freq"]),
        (
            FileSetting(f"{CPU}/intel_pstate/status"),
            [f"{POLICY}/scaling_governor", f"{POLICY}/scaling_max_freq"],
        ),
        (
            FileSetting(f"{CPU}/smt/control"),
            ["core of interrupt 24", "core of interrupt 25"],
        ),
        (
            EthtoolSetting("eth0", "channels", "combined"),
            [
                "eth0: channels rx",
                "/sys/class/net/eth0/queues/rx-0/rps_cpus",
                "core of interrupt 24",
                "core of interrupt 25",
            ],
        ),
        (CpusetPartition("taut"), ["cpuset in cgroup.subtree_control"]),
        (PlacedFile("/etc/a.conf"), ["/etc/.a.conf.taut"]),
        (
            PlacedFile("/etc/tuned/taut/tuned.conf"),
            ["/etc/tuned/taut/.tuned.conf.taut", "/etc/tuned/taut/", "/etc/tuned/"],
        ),
    ],
)
def test_what_the_kernel_changes_with_a_setting_is_known(
    tmp_path: Path, setting: Setting, names: list[str]
) -> None:
    assert [other.name for other in side_effects(tree(tmp_path, FILES), setting)] == names
