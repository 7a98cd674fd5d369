import errno
from pathlib import Path

import pytest

from host_tree import TreeWriter, put, tree
from taut.host.apply import apply_changes
from taut.host.setting import Change, Setting
from taut.host.settings import (
    CpusetPartition,
    EthtoolSetting,
    FileSetting,
    PlacedFile,
    SystemdUnit,
)
from taut.host.side_effects import side_effects
from undone_machine import machine, machine_files, take_back, wishes

CPU = "/sys/devices/system/cpu"
POLICY = f"{CPU}/cpufreq/policy0"
LIMITS = [f"{POLICY}/scaling_max_freq", f"{POLICY}/scaling_min_freq"]
SPEED = f"{POLICY}/scaling_setspeed"
BOOST = f"{POLICY}/boost"
SHARES = [f"{CPU}/intel_pstate/{name}_perf_pct" for name in ("max", "min")]
GROUPS = [f"/sys/fs/resctrl/{name}cpus" for name in ("db/", "mon_groups/a/", "db/mon_groups/b/")]
RATE_LIMIT = f"{CPU}/cpufreq/schedutil/rate_limit_us"
LINK = "/sys/class/net/eth0/device/link"
SUBSTATES = ("l1_1_aspm", "l1_1_pcipm", "l1_2_pcipm")
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
        *LIMITS,
        SPEED,
        RATE_LIMIT,
        *SHARES,
        BOOST,
        f"{CPU}/cpu2/online",
        f"{CPU}/cpu3/online",
        *GROUPS,
        f"{LINK}/l0s_aspm",
        f"{LINK}/l1_aspm",
        f"{LINK}/l1_1_aspm",
        f"{LINK}/l1_1_pcipm",
        f"{LINK}/l1_2_pcipm",
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
        (FileSetting(f"{POLICY}/scaling_governor"), [*LIMITS, RATE_LIMIT, SPEED]),
        (FileSetting(f"{POLICY}/scaling_min_freq"), [SPEED]),
        (FileSetting(f"{CPU}/cpufreq/boost"), [SHARES[1], BOOST, *LIMITS, SPEED]),
        (
            FileSetting(f"{CPU}/intel_pstate/status"),
            [*SHARES, BOOST, f"{POLICY}/scaling_governor", *LIMITS, RATE_LIMIT, SPEED],
        ),
        (
            FileSetting(f"{LINK}/l1_aspm"),
            [f"{LINK}/l1_1_aspm", f"{LINK}/l1_1_pcipm", f"{LINK}/l1_2_pcipm"],
        ),
        (FileSetting(f"{LINK}/l0s_aspm"), []),
        (
            FileSetting(f"{CPU}/cpu3/online"),
            [*GROUPS, BOOST, SPEED, "core of interrupt 24", "core of interrupt 25"],
        ),
        (
            FileSetting(f"{CPU}/smt/control"),
            [
                f"{CPU}/cpu2/online",
                f"{CPU}/cpu3/online",
                *GROUPS,
                BOOST,
                SPEED,
                "core of interrupt 24",
                "core of interrupt 25",
            ],
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


class Aspm(TreeWriter):
    """As drivers/pci/pcie/aspm.c: L1 takes its substates with it, and comes back with any."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path == f"{LINK}/l1_aspm" and text == "0\n":
            for name in SUBSTATES:
                put(self.host.root, f"{LINK}/{name}", "0\n")
        elif path.startswith(LINK) and text == "1\n":
            put(self.host.root, f"{LINK}/l1_aspm", "1\n")


def test_substates_that_a_link_lost_with_l1_come_back(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    for name in (*SUBSTATES, "l1_aspm"):
        put(tmp_path, f"{LINK}/{name}", "1\n")
    before = machine_files(tmp_path)
    names = ("l1_1_aspm", "l1_aspm")
    changes = [Change(FileSetting(f"{LINK}/{name}", "number"), "0") for name in names]

    apply_changes(host, Aspm(host), wishes(*changes))
    assert host.read(f"{LINK}/l1_2_pcipm") == "0"

    assert take_back(host, Aspm(host)).is_good
    assert machine_files(tmp_path) == before


class Cpufreq(TreeWriter):
    """As the governors: userspace begins with the frequency there is, schedutil with its default.

    A lowest frequency lifts what userspace asks for, which comes back with the old one.
    """

    def write_file(self, path: str, text: str) -> None:
        governor = self.host.read(f"{POLICY}/scaling_governor")
        if path == SPEED and governor != "userspace":
            raise OSError(errno.EINVAL, "Invalid argument")
        super().write_file(path, text)
        root = self.host.root
        if path == f"{POLICY}/scaling_governor":
            at_once = "3500000\n" if text == "userspace\n" else "<unsupported>\n"
            put(root, SPEED, at_once)
            (root / RATE_LIMIT.lstrip("/")).unlink(missing_ok=True)
            if text == "schedutil\n":
                put(root, RATE_LIMIT, "1000\n")
        if path == f"{POLICY}/scaling_min_freq" and text == "3500000\n" and governor == "userspace":
            put(root, SPEED, text)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "found",
    [
        {"scaling_governor": "userspace\n", "scaling_setspeed": "2000000\n"},
        {"scaling_governor": "schedutil\n", "scaling_setspeed": "<unsupported>\n"},
    ],
)
def test_a_governor_comes_back_with_its_frequency_or_its_tunables(
    tmp_path: Path, found: dict[str, str], *, at_once: bool
) -> None:
    host, _ = machine(tmp_path)
    limits = {"scaling_min_freq": "800000\n", "scaling_max_freq": "3500000\n"}
    for name, text in (found | limits).items():
        put(tmp_path, f"{POLICY}/{name}", text)
    if found["scaling_governor"] == "schedutil\n":
        put(tmp_path, RATE_LIMIT, "500\n")
    before = machine_files(tmp_path)
    lowest = Change(FileSetting(f"{POLICY}/scaling_min_freq", "number"), "3500000")
    governor = Change(FileSetting(f"{POLICY}/scaling_governor"), "performance")

    for changes in [(governor, lowest)] if at_once else [(lowest,), (governor,)]:
        assert apply_changes(host, Cpufreq(host), wishes(*changes)).is_good
    assert host.read(SPEED) == "<unsupported>"

    assert take_back(host, Cpufreq(host)).is_good
    assert machine_files(tmp_path) == before


def test_a_frequency_that_somebody_else_asked_for_since_is_a_strangers(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    put(tmp_path, f"{POLICY}/scaling_governor", "userspace\n")
    put(tmp_path, SPEED, "2000000\n")
    governor = Change(FileSetting(f"{POLICY}/scaling_governor"), "performance")
    apply_changes(host, Cpufreq(host), wishes(governor))

    Cpufreq(host).write_file(f"{POLICY}/scaling_governor", "userspace\n")

    assert [each.setting.name for each in take_back(host, Cpufreq(host)).strangers] == [SPEED]


class Pstate(TreeWriter):
    """As intel_pstate: without turbo the lowest share is 70 % at most, and another mode forgets."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path.endswith("/no_turbo") and text == "1\n":
            put(self.host.root, SHARES[1], "70\n")
        if path.endswith("/status"):
            for name, default in {"no_turbo": "0\n", "min_perf_pct": "22\n"}.items():
                put(self.host.root, f"{CPU}/intel_pstate/{name}", default)


@pytest.mark.parametrize(
    ("name", "wanted", "no_turbo"), [("no_turbo", "1", "0\n"), ("status", "active", "1\n")]
)
def test_the_lowest_share_and_turbo_come_back(
    tmp_path: Path, name: str, wanted: str, no_turbo: str
) -> None:
    host, _ = machine(tmp_path)
    put(tmp_path, SHARES[1], "100\n")
    put(tmp_path, f"{CPU}/intel_pstate/no_turbo", no_turbo)
    put(tmp_path, f"{CPU}/intel_pstate/status", "passive\n")
    before = machine_files(tmp_path)
    change = Change(FileSetting(f"{CPU}/intel_pstate/{name}"), wanted)

    assert apply_changes(host, Pstate(host), wishes(change)).is_good
    assert host.read(SHARES[1]) in ("70", "22")

    assert take_back(host, Pstate(host)).is_good
    assert machine_files(tmp_path) == before


class Siblings(TreeWriter):
    """As the kernel: a core that goes leaves its group, and `on` brings back each sibling."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        root = self.host.root
        if path == f"{CPU}/smt/control":
            for core in (2, 3):
                put(root, f"{CPU}/cpu{core}/online", "1\n" if text == "on\n" else "0\n")
        if text in ("off\n", "0\n"):
            put(root, GROUPS[0], "1\n")


@pytest.mark.parametrize(("name", "wanted"), [("smt/control", "off"), ("cpu3/online", "0")])
def test_siblings_come_back_as_they_were(tmp_path: Path, name: str, wanted: str) -> None:
    host, _ = machine(tmp_path)
    put(tmp_path, f"{CPU}/smt/control", "on\n")
    put(tmp_path, f"{CPU}/cpu2/online", "0\n")
    put(tmp_path, f"{CPU}/cpu3/online", "1\n")
    put(tmp_path, GROUPS[0], "9\n")
    before = machine_files(tmp_path)
    change = Change(FileSetting(f"{CPU}/{name}"), wanted)

    assert apply_changes(host, Siblings(host), wishes(change)).is_good
    assert host.read(GROUPS[0]) == "1"

    assert take_back(host, Siblings(host)).is_good
    assert machine_files(tmp_path) == before
