from dataclasses import replace
from pathlib import Path

from check_rows import BY_ID, KVM_HOST, bad, each, good, odd, skipped, unseen
from host_tree import judge
from taut.host.check import Severity
from taut.host.host import Host
from taut.host.situation import Waiting

MODULE = "/sys/module"
PLE = f"{MODULE}/kvm_intel/parameters/ple_gap"
PAUSES = f"{MODULE}/kvm_amd/parameters/pause_filter_count"
SYNC = f"{MODULE}/kvm/parameters/kvmclock_periodic_sync"
SPLIT = f"{MODULE}/kvm/parameters/nx_huge_pages"
BUG = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"
SOUND = {BUG: "Not affected\n"}
HALT = f"{MODULE}/kvm/parameters/halt_poll_ns"
APICV = f"{MODULE}/kvm_intel/parameters/enable_apicv"
AVIC = f"{MODULE}/kvm_amd/parameters/avic"
IPIV = f"{MODULE}/kvm_amd/parameters/enable_ipiv"
TIMER = f"{MODULE}/kvm/parameters/pi_inject_timer"
HYGON = replace(
    KVM_HOST, machine=replace(KVM_HOST.machine, vendor="amd", family=0x18, kernel=(6, 18))
)
ZEN_2 = replace(KVM_HOST, machine=replace(KVM_HOST.machine, vendor="amd", family=0x17))

ROWS = (
    good("V03", {PLE: "0\n"}, f"{PLE} = 0", on=KVM_HOST),
    bad(
        "V03",
        {PLE: "128\n"},
        f"{PLE} = 128",
        on=KVM_HOST,
        remedies="boot by-hand",
        does=("option of module kvm_intel: ple_gap=0", "with no guest running", "share cores"),
    ),
    bad("V03", {PAUSES: "3000\n"}, "pause_filter_count = 0", on=KVM_HOST),
    skipped("V03", {}, "not loaded", on=KVM_HOST),
    *odd("V03", PLE, "perhaps\n", on=KVM_HOST),
    good("V04", {SYNC: "N\n"}, f"{SYNC} = N", on=KVM_HOST),
    bad(
        "V04",
        {SYNC: "Y\n"},
        on=KVM_HOST,
        remedies="boot by-hand",
        does=("kvmclock_periodic_sync=0",),
    ),
    skipped("V04", {}, "not loaded", on=KVM_HOST),
    *odd("V04", SYNC, "perhaps\n", on=KVM_HOST),
    good("V05", SOUND | {SPLIT: "N\n"}, on=KVM_HOST),
    good("V05", SOUND | {SPLIT: "never\n"}, on=KVM_HOST),
    bad("V05", SOUND | {SPLIT: "Y\n"}, on=KVM_HOST, remedies="now boot", mends=True),
    *(
        skipped("V05", {SPLIT: "Y\n", BUG: f"{bug}\n"}, "the mitigation stays", on=KVM_HOST)
        for bug in ("KVM: Mitigation: Split huge pages", "Processor vulnerable")
    ),
    unseen("V05", {SPLIT: "Y\n"}, "ITLB_MULTIHIT", on=KVM_HOST),
    unseen("V05", {SPLIT: "Y\n", BUG: "who knows\n"}, "ITLB_MULTIHIT", on=KVM_HOST),
    skipped("V05", SOUND, on=KVM_HOST),
    *odd("V05", SPLIT, "?\n", on=KVM_HOST),
    good("V06", {HALT: "200000\n"}, on=KVM_HOST),
    bad("V06", {HALT: "0\n"}, on=KVM_HOST, remedies="now boot", mends=True),
    skipped("V06", {}, on=KVM_HOST),
    *odd("V06", HALT, "-1\n", on=KVM_HOST),
    good("V08", {APICV: "Y\n", TIMER: "1\n"}, on=KVM_HOST),
    bad(
        "V08",
        {AVIC: "0\n", TIMER: "1\n"},
        on=KVM_HOST,
        remedies="boot",
        does=("option of module kvm_amd: avic=1",),
    ),
    # Zen 1 and 2 lose IPIs with it, but for kernels that leave those out.
    bad("V08", {AVIC: "N\n"}, on=ZEN_2, remedies="by-hand", does=("erratum 1235",)),
    bad(
        "V08",
        {AVIC: "N\n", TIMER: "1\n"},
        on=ZEN_2,
        remedies="boot by-hand",
        does=("option of module kvm: pi_inject_timer=1",),
    ),
    bad("V08", {AVIC: "N\n", IPIV: "N\n"}, on=ZEN_2, remedies="boot", does=("avic=1",)),
    good("V08", {AVIC: "Y\n"}, on=ZEN_2),
    bad("V08", {AVIC: "N\n", IPIV: "N\n"}, on=HYGON, remedies="by-hand", does=("erratum 1235",)),
    # Timers can be injected at once.
    bad(
        "V08",
        {APICV: "Y\n", TIMER: "-1\n"},
        on=KVM_HOST,
        remedies="now boot",
        does=("option of module kvm: pi_inject_timer=1",),
        mends=True,
    ),
    good("V08", {APICV: "Y\n"}, on=KVM_HOST),
    skipped("V08", {}, on=KVM_HOST),
    *odd("V08", APICV, "maybe\n", on=KVM_HOST),
)

test_kvm = each(ROWS)


def test_a_mitigation_that_is_needed_has_no_remedy(tmp_path: Path) -> None:
    row = skipped("V05", {SPLIT: "Y\n", BUG: "Processor vulnerable\n"}, on=KVM_HOST)

    row.holds(tmp_path)
    assert not BY_ID["V05"].propose(Host(tmp_path), KVM_HOST)


def test_halting_at_once_is_major_where_the_guest_sleeps_for_its_packets(tmp_path: Path) -> None:
    sleeps = replace(KVM_HOST, waiting=frozenset({Waiting.SLEEPS}))
    check = BY_ID["V06"]

    assert judge(check, tmp_path, {HALT: "0\n"}, KVM_HOST).severity is Severity.MINOR
    assert judge(check, tmp_path, {HALT: "0\n"}, sleeps).severity is Severity.MAJOR
