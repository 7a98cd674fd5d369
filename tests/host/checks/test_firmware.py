from dataclasses import replace

from check_rows import CONTAINER, GUEST, bad, each, good, skipped, unseen
from host_tree import BARE_METAL, POLL
from taut.host.situation import Situation, Watched

SMIS = "/commands/perf stat -a -x, -e msr_smi_ sleep 60"
NO_SMI = {SMIS: "0,,msr/smi/,60000000,100.00,,\n"}
FWUPD = "/commands/systemctl is-active fwupd-refresh.timer"
SMARTD = "/commands/systemctl is-active smartd.service"
DRIVER = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"
MAKER = "/sys/class/dmi/id/sys_vendor"
DMESG = "/commands/dmesg"
NIC = {"/sys/bus/pci/devices/0000:3b:00.0/class": "0x020000\n"}
XHCI = {"/sys/bus/pci/devices/0000:00:14.0/class": "0x0c0330\n"}
SCRUB = "/sys/devices/system/edac/mc/mc0/sdram_scrub_rate"
HOT_0, HOT_2 = (
    f"/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count" for core in (0, 2)
)
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
ARM = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))
VIRTUAL = replace(POLL, machine=replace(BARE_METAL, hypervisor="KVM"))


def watched(path: str, before: int, after: int) -> Situation:
    return replace(POLL, watched=Watched(5.0, {path: str(before)}, {path: str(after)}))


ROWS = (
    good("HW04", NO_SMI),
    bad("HW04", {SMIS: "12,,msr/smi/,60000000,100.00,,\n"}, "12 SMIs", does=("BIOS",)),
    # The audit itself counts none, and says how.
    unseen("HW04", {}, "perf stat -a -x, -e msr/smi/ sleep 60"),
    unseen("HW04", {SMIS: "<not supported>,,msr/smi/,0,100.00,,\n"}),
    # A guest's zero proves nothing.
    unseen("HW04", NO_SMI, "on the host", on=GUEST),
    unseen("HW04", {}, "on the host", on=CONTAINER),
    unseen("HW04", {}, "ls_smi_rx", on=AMD),
    skipped("HW04", {}, on=ARM),
    good("HW05", {FWUPD: "inactive\n", SMARTD: "inactive\n"}),
    bad(
        "HW05",
        {FWUPD: "active\n", SMARTD: "active\n"},
        "active: fwupd-refresh.timer smartd.service",
        remedies="now boot",
        does=("do not start fwupd-refresh.timer smartd.service at boot",),
        mends=True,
    ),
    unseen("HW05", {}, "systemd does not answer"),
    # An odd answer is not running.
    good("HW05", {FWUPD: "\x00?\n"}),
    skipped("HW05", {FWUPD: "active\n"}, "the host's", on=VIRTUAL),
    bad("HW06", {DRIVER: "pcc-cpufreq\n"}, does=("BIOS",)),
    bad("HW06", {DMESG: "[    2.4] intel_pstate: P-states controlled by the platform\n"}),
    # A profile cannot be seen, but its maker can be asked.
    unseen(
        "HW06",
        {DRIVER: "intel_pstate\n", MAKER: "Dell Inc.\n", DMESG: "[    0.0] Linux\n"},
        "; racadm ",
    ),
    unseen("HW06", {}),
    unseen("HW06", {DRIVER: "\x00\n", MAKER: "-1\n"}),
    skipped("HW06", {}, "the host's", on=GUEST),
    good("HW07", NIC),
    bad(
        "HW07",
        XHCI | {DMESG: "[    1.0] pci 0000:00:1a.7: EHCI: BIOS handoff failed (BIOS bug?) 01\n"},
        "kernel: pci 0000:00:1a.7",
        does=("BIOS",),
    ),
    # A controller that was handed over may still be emulated.
    unseen("HW07", NIC | XHCI, "HW04"),
    unseen("HW07", {}),
    skipped("HW07", XHCI, on=ARM),
    skipped("HW07", XHCI, "the host's", on=GUEST),
    good("HW08", {SCRUB: "0\n"}),
    bad(
        "HW08",
        {SCRUB: "0\n", DMESG: "[    1.2] HEST: Enabling Firmware First mode for corrected errors."},
        remedies="by-hand",
        does=("BIOS",),
    ),
    # No driver tells its lowest rate: 761 switches scrubbing off on Zen.
    unseen("HW08", {SCRUB: "761\n"}, "data sheet", on=AMD),
    unseen("HW08", {SCRUB: "97650000\n"}),
    unseen("HW08", {}),
    unseen("HW08", {SCRUB: "-1\n"}),
    skipped("HW08", {SCRUB: "9\n"}, "the host's", on=GUEST),
    good("HW13", {HOT_2: "0\n"}),
    bad(
        "HW13",
        {HOT_2: "9\n"},
        "throttled 2 times in 5 s",
        on=watched(HOT_2, 7, 9),
        cores=(2,),
        remedies="by-hand",
    ),
    unseen("HW13", {HOT_2: "7\n"}, "watch a while: --watch 5s"),
    good("HW13", {HOT_2: "7\n"}, on=watched(HOT_2, 7, 7)),
    # A housekeeping core may be hot.
    good("HW13", {HOT_0: "9\n", HOT_2: "0\n"}, on=watched(HOT_0, 7, 9)),
    skipped("HW13", {}),
    unseen("HW13", {HOT_2: "hot\n"}),
    skipped("HW13", {HOT_2: "7\n"}, "the host's", on=GUEST),
)

test_firmware = each(ROWS)
