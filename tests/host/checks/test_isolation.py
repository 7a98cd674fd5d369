import gzip
from dataclasses import replace

from check_rows import (
    CONTAINER,
    GUEST,
    HOUSEKEEPING,
    KVM_HOST,
    NOBODY,
    bad,
    each,
    good,
    odd,
    skipped,
    unseen,
)
from host_tree import BARE_METAL

CMDLINE, DMESG = "/proc/cmdline", "/commands/dmesg"
CPU = "/sys/devices/system/cpu"
BOOT = f"{CPU}/isolated"
CGROUP = "/sys/fs/cgroup"
TELLS = (
    "[    0.1] Linux version 6\n[    0.1] Kernel command line: {line}\n"
    '[    0.2] Unknown kernel command line parameters "{odd}", will be passed to user space.\n'
)
OPTIONS = "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPUSETS=y\nCONFIG_CPU_ISOLATION=y\n"
WITHOUT = OPTIONS.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set")
PACKED = gzip.compress(OPTIONS.encode()).decode(errors="surrogateescape")
UNSUPPORTED = "[0.0] Linux version 6\n[0.1] Housekeeping: nohz unsupported. Build with NO_HZ_FULL\n"
VERSION = "/proc/sys/kernel/version"
DYNAMIC = {VERSION: "#1 SMP PREEMPT_DYNAMIC Debian 6.12\n"}
REAL_TIME = {VERSION: "#1 SMP PREEMPT_RT Debian 6.12\n"}
UNIFIED = {
    BOOT: "\n",
    f"{CGROUP}/cgroup.controllers": "cpuset cpu io\n",
    f"{CGROUP}/cgroup.subtree_control": "cpu\n",
    f"{CGROUP}/cpuset.cpus.isolated": "\n",
}
VERSION_1 = {
    BOOT: "\n",
    f"{CGROUP}/cpuset/cpuset.cpus": "0-3\n",
    f"{CGROUP}/cpuset/cpuset.mems": "0\n",
    f"{CGROUP}/cpuset/cpuset.sched_load_balance": "1\n",
}
# Since 6.13 or so the root group lists the cores of the boot, too.
LISTED = {BOOT: "2-3\n", f"{CGROUP}/cpuset.cpus.isolated": "2-3\n"}
WITH_DOMAIN = "cpu0 0\ndomain0 MC 3 0\ncpu1 0\ndomain0 MC 3 0\ncpu2 0\ncpu3 0\n"


def ignoring(line: str, ignored: str = "") -> dict[str, str]:
    """A machine and, where the kernel ignored something, the log of its boot."""
    files = {"/proc/sys/kernel/osrelease": "6.12.0\n", CMDLINE: f"{line}\n"}
    return files | ({DMESG: TELLS.format(line=line, odd=ignored)} if ignored else {})


def built(options: str) -> dict[str, str]:
    return {
        "/proc/sys/kernel/osrelease": "6.12.0-amd64\n",
        "/boot/config-6.12.0-amd64": options,
    }


def partition(state: str) -> dict[str, str]:
    return {
        BOOT: "\n",
        f"{CGROUP}/poll/cpuset.cpus.partition": f"{state}\n",
        f"{CGROUP}/poll/cpuset.cpus.effective": "2-3\n",
    }


def booted(line: str, said: str = "") -> dict[str, str]:
    """A machine booted with a line, and what its kernel said."""
    return {
        f"{CPU}/possible": "0-3\n",
        f"{CPU}/nohz_full": "2-3\n",
        CMDLINE: f"{line}\n",
        DMESG: f"[0.0] Linux version 6.12\n{said}",
    }


ROWS = (
    # What only the boot loader reads is fine.
    good("K01", ignoring("BOOT_IMAGE=/vmlinuz quiet", "BOOT_IMAGE=/vmlinuz")),
    bad(
        "K01",
        ignoring("quiet nosoftlookup", "nosoftlookup"),
        "nosoftlookup",
        remedies="by-hand",
        does=("nosoftlockup",),
    ),
    # The kernel does not name those with a dot.
    bad("K01", ignoring("processor_idle.max_cstate=1", "BOOT_IMAGE=x")),
    unseen("K01", ignoring("zebrafish_quota=1"), "dmesg"),
    good("K01", ignoring("quiet nosmt")),
    unseen("K01", {}, "no command line"),
    bad("K01", ignoring("nosoftlookup"), on=CONTAINER, does=("on the host",)),
    good("K02", built(OPTIONS), "without EVENT_TRACING"),
    bad("K02", built(WITHOUT), "NO_HZ_FULL", remedies="by-hand"),
    good("K02", {"/proc/config.gz": PACKED}),
    bad("K02", {f"{CPU}/online": "0-3\n"}, "nohz_full"),
    bad("K02", {DMESG: UNSUPPORTED}, "boot log"),
    unseen("K02", {}),
    unseen("K02", built("\x00\x01") | {"/proc/config.gz": "not packed"}),
    good(
        "K03",
        DYNAMIC | {"/sys/kernel/debug/sched/preempt": "none (voluntary) full\n"},
        "(voluntary)",
    ),
    unseen("K03", DYNAMIC, "guests", on=KVM_HOST),
    good("K03", REAL_TIME, on=KVM_HOST),
    unseen(
        "K03", REAL_TIME, "host", on=replace(GUEST, machine=replace(BARE_METAL, is_realtime=True))
    ),
    good("K03", {VERSION: "#1 SMP\n"}, "no preemption"),
    skipped("K03", {}),
    good("K04", {BOOT: "1-3\n"}),
    bad("K04", {BOOT: "3\n"}, cores=(2,)),
    good("K04", {BOOT: "\n", f"{CGROUP}/cpuset.cpus.isolated": "2-3\n"}),
    good("K04", LISTED, "isolated at boot: 2-3, by cpusets: none"),
    # A kernel without the sum of its partitions.
    good("K04", partition("isolated")),
    bad("K04", partition("isolated invalid (Cpu list is not exclusive)"), "not exclusive"),
    # Cores without a scheduling domain are isolated, unless no core shows one.
    good("K04", {BOOT: "\n", "/proc/schedstat": f"version 17\n{WITH_DOMAIN}"}),
    bad("K04", {BOOT: "\n", "/proc/schedstat": "version 17\ncpu0 0\ncpu1 0\ncpu2 0\ncpu3 0\n"}),
    *(
        bad("K04", files, remedies="now boot", does=("isolcpus=domain,2-3",), mends=True)
        for files in (UNIFIED, VERSION_1)
    ),
    bad("K04", {BOOT: "\n"}, on=NOBODY, remedies=""),
    unseen("K04", {BOOT: "3\n"}, on=NOBODY),
    good("K04", {BOOT: "\n"}, on=HOUSEKEEPING),
    bad("K04", {BOOT: "3\n"}, "Housekeeping cores are isolated", on=HOUSEKEEPING, remedies=""),
    good("K04", {BOOT: "2-3\n"}, on=CONTAINER),
    unseen("K04", {BOOT: "\n"}, on=CONTAINER),
    skipped("K04", {}),
    *odd("K04", BOOT, "2-x\n", "3-2\n", "0-4000000000\n"),
    good("K07", booted("nohz_full=2-3 isolcpus=domain,managed_irq,2-3")),
    good("K07", booted("nohz_full=2-N isolcpus=nohz,domain,2,3")),
    good("K07", booted("nohz_full=2-3 isolcpus=managed_irq,1-3")),
    bad("K07", booted("nohz_full=2-3 isolcpus=nohz,3"), "differ", remedies="by-hand"),
    bad("K07", booted("nohz_full=2-3 isolcpus=0-1"), "no core is left"),
    bad("K07", booted("nohz_full=1-3"), "not in force on core 1"),
    bad("K07", booted("nohz_full=2-x"), "not a list"),
    bad(
        "K07",
        booted("nohz_full=2-3", "[0.1] Housekeeping: must include one present CPU, using 0\n"),
        "must include one present CPU",
    ),
    skipped("K07", booted("quiet")),
    unseen("K07", {f"{CPU}/nohz_full": "2-3\n"}),
)

test_isolation = each(ROWS)
