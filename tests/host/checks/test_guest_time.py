from dataclasses import replace

from check_rows import GUEST, bad, each, good, skipped, unseen
from host_tree import BARE_METAL
from taut.host.situation import Situation, Watched

STAT = "/proc/stat"
CMDLINE, DMESG = "/proc/cmdline", "/commands/dmesg"
BARE = replace(GUEST, machine=BARE_METAL)


def stat(*steal: int) -> str:
    lines = [f"cpu{core} 1 2 3 4 5 6 7 {ticks} 0 0" for core, ticks in enumerate(steal)]
    return "\n".join([f"cpu  1 2 3 4 5 6 7 {sum(steal)} 0 0", *lines, "intr 5 0", ""])


def watched(before: str, after: str) -> Situation:
    return replace(GUEST, watched=Watched(5.0, {STAT: before}, {STAT: after}))


def logged(line: str) -> dict[str, str]:
    return {DMESG: f"[    0.3] {line}\n"}


ROWS = (
    # Core 0 does not poll.
    good(
        "G01",
        {STAT: stat(50, 9, 9, 9)},
        "shorter gaps: G02",
        on=watched(stat(9, 9, 9, 9), stat(50, 9, 9, 9)),
    ),
    bad(
        "G01",
        {STAT: stat(9, 9, 9, 12)},
        "stolen in 5 s: core 3 30 ms",
        on=watched(stat(9, 9, 9, 9), stat(9, 9, 9, 12)),
        cores=(3,),
        does=("vcpupin",),
    ),
    # A total since boot is no verdict.
    unseen("G01", {STAT: stat(9, 9, 9, 9)}, "--watch", on=GUEST),
    # A host that never told of steal is not believed.
    unseen("G01", {STAT: stat(0, 0, 0, 0)}, on=watched(stat(0, 0, 0, 0), stat(0, 0, 0, 0))),
    unseen("G01", {}, on=GUEST),
    unseen("G01", {STAT: "cpu2 1 2 x\n"}, on=GUEST),
    unseen("G02", {}, "taut host noise --cores 2-3", on=GUEST),
    unseen("G02", {}, "--cores LIST", on=replace(GUEST, cores=())),
    *(
        bad("G07", logged(line), f"kernel: {line}", on=GUEST, remedies="by-hand")
        for line in (
            "kvm-pvm: mmio caching disabled (nested host: MAXPHYADDR 48)",
            "Hyper-V: running on a nested hypervisor",
        )
    ),
    bad("G07", {CMDLINE: "quiet nested_pvm=1\n"}, "command line: nested_pvm=1", on=GUEST),
    # What is about guests of this one is no sign.
    unseen(
        "G07",
        {CMDLINE: "kvm_intel.nested=1 kvm_amd.nested_foo=1\n"}
        | logged("kvm_amd: Nested Virtualization enabled"),
        on=GUEST,
    ),
    unseen("G07", {}, "proves nothing", on=GUEST),
    unseen("G07", {CMDLINE: "\x00\xff\n", DMESG: "nested\n"}, on=GUEST),
    skipped("G07", {}, on=BARE),
    unseen("G08", {}, "SMIs", "C-states", "SMT", "cache allocation", "on the host", on=GUEST),
)

test_guest_time = each(ROWS)
