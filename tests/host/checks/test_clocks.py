from dataclasses import replace
from pathlib import Path

from check_rows import BY_ID, CONTAINER, GUEST, bad, each, good, skipped, unseen
from host_threads import HIDDEN
from host_tree import BARE_METAL, POLL, tree
from taut.host.check import Severity
from taut.host.situation import Situation

CPUINFO = "/proc/cpuinfo"
FOLDER = "/sys/devices/system/clocksource/clocksource0"
CURRENT, AVAILABLE = f"{FOLDER}/current_clocksource", f"{FOLDER}/available_clocksource"
DMESG = "/commands/dmesg"
UNSTABLE = (
    "[    7.1] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable "
    "because the skew is too large:\n"
)
BARKED = "[0.0] Linux version 6\n[9.1] clocksource: timekeeping watchdog on CPU2: Marking ...\n"
CMDLINE = "/proc/cmdline"
QUIET = {CMDLINE: "quiet\n"}
CONF = "/etc/chrony/chrony.conf"
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
ARM = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))
SHAKY = replace(POLL, machine=replace(BARE_METAL, flags=frozenset({"constant_tsc"})))


def flags(*given: str) -> dict[str, str]:
    return {CPUINFO: f"flags\t\t: fpu tsc {' '.join(given)}\n"}


BARE = flags("constant_tsc nonstop_tsc tsc_deadline_timer")
NO_TIMER = flags("constant_tsc nonstop_tsc")

NO_TIMER_GUEST = flags("constant_tsc nonstop_tsc tsc_known_freq")
AZURE = replace(
    GUEST, machine=replace(BARE_METAL, hypervisor="Microsoft Corporation Virtual Machine")
)


def nodes(packages: int, count: int) -> dict[str, str]:
    """A machine of so many packages and nodes, booted without a word on its TSC."""
    package = "/sys/devices/system/cpu/cpu{}/topology/physical_package_id"
    files = {package.format(core): f"{core}\n" for core in range(packages)}
    return files | QUIET | {"/sys/devices/system/node/online": f"0-{count - 1}\n"}


def adjusted(kernel: tuple[int, int]) -> Situation:
    flags = BARE_METAL.flags | {"tsc_adjust"}
    return replace(POLL, machine=replace(BARE_METAL, flags=flags, kernel=kernel))


def daemon(name: str, *argv: str) -> dict[str, str]:
    return {"/proc/50/comm": f"{name}\n", "/proc/50/cmdline": "\0".join((name, *argv)) + "\0"}


ROWS = (
    good("HW01", BARE),
    bad("HW01", flags("constant_tsc tsc_deadline_timer"), "absent: nonstop_tsc"),
    good("HW01", flags("constant_tsc nonstop_tsc tsc_deadline_timer tsc_known_freq"), on=GUEST),
    # Only a guest must be told the rate.
    bad("HW01", BARE, "absent: tsc_known_freq", on=GUEST, does=("invtsc",)),
    # AMD has no deadline timer.
    good("HW01", NO_TIMER, on=AMD),
    # A deadline timer says nothing of the TSC; Hyper-V and others offer none.
    bad("HW01", NO_TIMER, "invariant all the same", remedies="by-hand", does=("microcode",)),
    bad("HW01", NO_TIMER_GUEST, "invariant all", on=GUEST, does=("QEMU -cpu host",)),
    good("HW01", NO_TIMER_GUEST, on=AZURE),
    bad("HW01", flags("constant_tsc tsc_known_freq"), "absent: nonstop_tsc", on=AZURE),
    good("HW01", {AVAILABLE: "arch_sys_counter \n"}, on=ARM),
    bad("HW01", {AVAILABLE: "jiffies \n"}, on=ARM),
    unseen("HW01", {}, on=ARM),
    unseen("HW01", {}),
    unseen("HW01", {CPUINFO: "flags : \x00?\n"}),
    good("HW02", {CURRENT: "tsc\n"}),
    bad(
        "HW02",
        {CURRENT: "hpet\n", AVAILABLE: "tsc hpet acpi_pm \n"},
        remedies="now boot",
        does=("clocksource=tsc",),
        mends=True,
    ),
    # A TSC that the kernel gave up is never forced.
    bad(
        "HW02",
        {CURRENT: "hpet\n", AVAILABLE: "tsc hpet \n", DMESG: UNSTABLE},
        "Marking clocksource 'tsc' as unstable",
        remedies="by-hand",
    ),
    bad("HW02", {CURRENT: "tsc\n", DMESG: UNSTABLE}),
    good("HW02", {CURRENT: "kvm-clock\n"}, "tolerated", on=GUEST),
    bad("HW02", {CURRENT: "kvm-clock\n"}),
    bad(
        "HW02",
        {CURRENT: "hpet\n", AVAILABLE: "tsc hpet \n"},
        on=CONTAINER,
        remedies="by-hand",
        does=("on the host",),
    ),
    skipped("HW02", {}),
    unseen("HW02", {CURRENT: "-1 ?\n"}),
    good("K17", {CMDLINE: "tsc=nowatchdog\n"}),
    good("K17", {CMDLINE: "tsc=reliable\n"}),
    bad("K17", QUIET, remedies="boot", does=("tsc=nowatchdog", "tsc=reliable drops")),
    # Newer kernels trust a good TSC on few packages; until 6.10 they counted nodes, of which a
    # package may have several.
    good("K17", nodes(4, 16), on=adjusted((6, 12))),
    bad("K17", nodes(8, 8), on=adjusted((6, 12))),
    bad("K17", nodes(2, 8), on=adjusted((6, 9))),
    good("K17", nodes(2, 4), on=adjusted((6, 9))),
    good("K17", nodes(2, 2), on=adjusted((5, 17))),
    bad("K17", nodes(1, 4), on=adjusted((6, 1))),
    bad("K17", nodes(4, 4), on=adjusted((6, 1))),
    bad("K17", nodes(1, 1), on=adjusted((5, 10))),
    # A watchdog that barked fails whatever was asked for.
    bad("K17", {CMDLINE: "tsc=reliable\n", DMESG: BARKED}, "CPU2"),
    # A TSC that is not steady is never trusted by us.
    bad("K17", QUIET, on=SHAKY, remedies=""),
    skipped("K17", QUIET, on=ARM),
    unseen("K17", {}),
    good("R32", daemon("chronyd") | {CONF: "# x\nmakestep 1 3\n"}, "chronyd slew"),
    bad("R32", daemon("chronyd") | {CONF: "makestep 1 -1\n"}, "makestep 1 -1"),
    good("R32", daemon("chronyd")),
    good("R32", daemon("ntpd", "-g", "-x")),
    good("R32", daemon("ntpd") | {"/etc/ntp.conf": "tinker panic 0 step 0\n"}),
    good("R32", daemon("phc2sys", "-s", "eth0")),
    good(
        "R32",
        daemon("ptp4l", "-f", "/etc/ptp.conf")
        | {"/etc/ptp.conf": "[global]\nstep_threshold 0.0\n"},
    ),
    bad(
        "R32",
        daemon("chronyd", "-f", "/etc/other.conf") | {"/etc/other.conf": "MakeStep 0.1 -1\n"},
        "other.conf",
    ),
    bad(
        "R32",
        daemon("chronyd") | {"/etc/chrony/conf.d/a.conf": "makestep 1 -1\n"},
        "conf.d/a.conf",
    ),
    bad("R32", daemon("ntpd", "-g"), "0.128 s"),
    bad("R32", daemon("systemd-timesyn"), "0.4 s"),
    bad("R32", daemon("phc2sys", "-S", "0.001"), "-S 0.001"),
    bad(
        "R32",
        daemon("ptp4l", "-f", "/etc/ptp.conf") | {"/etc/ptp.conf": "step_threshold 1.0\n"},
        "step_threshold 1.0",
    ),
    good("R32", {}),
    unseen("R32", {}, on=CONTAINER),
    unseen("R32", HIDDEN, "run as root"),
    # What makes no sense says nothing.
    good("R32", daemon("chronyd", "-f") | {CONF: "makestep\n\0\nmakestep 1\n"}),
)

test_clocks = each(ROWS)


def test_without_a_deadline_timer_a_guest_is_less_exact_and_not_wrong(tmp_path: Path) -> None:
    finding = BY_ID["HW01"].inspect(tree(tmp_path, NO_TIMER_GUEST), GUEST)

    assert finding.severity is Severity.MINOR
    assert "invariant" not in finding.fault
