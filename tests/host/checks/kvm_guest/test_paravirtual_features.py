from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kvm_guest.paravirtual_features import CHECK
from taut.host.situation import Role, Watched

DMESG = "/commands/dmesg"
INTERRUPTS = "/proc/interrupts"
DEDICATED = "[    0.1] kvm-guest: PV spinlocks disabled with KVM_HINTS_REALTIME hints\n"
SHARED = "[    0.1] kvm-guest: KVM setup pv remote TLB flush\n[ 0.2] kvm-guest: setup PV IPIs\n"
GUEST = replace(POLL, role=Role.KVM_GUEST)


def calls(n: int) -> str:
    return f"           CPU0       CPU1\nHYP:  {n}  0   Hypervisor callback interrupts\nERR: 0\n"


def watched(before: int, after: int) -> Watched:
    return Watched(5.0, {INTERRUPTS: calls(before)}, {INTERRUPTS: calls(after)})


def test_dedicated_cores_without_call_backs_pass(tmp_path: Path) -> None:
    files = {DMESG: DEDICATED, INTERRUPTS: calls(0)}

    assert judge(CHECK, tmp_path, files, GUEST).state is State.PASS


def test_a_host_that_shares_its_cores_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {DMESG: SHARED, INTERRUPTS: calls(0)}, GUEST)

    assert finding.state is State.FAIL
    assert "pv remote TLB flush" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), GUEST)
    assert "kvm-hint-dedicated=on" in remedy.by_hand


def test_asynchronous_page_faults_fail_and_are_refused_at_boot(tmp_path: Path) -> None:
    busy = replace(GUEST, watched=watched(117, 120))

    finding = judge(CHECK, tmp_path, {DMESG: DEDICATED, INTERRUPTS: calls(120)}, busy)

    assert finding.state is State.FAIL
    assert "120 since boot, 3 while watched" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), busy)
    assert str(remedy.boot[0]) == "no-kvmapf"


def test_call_backs_of_the_past_need_a_watch(tmp_path: Path) -> None:
    files = {DMESG: DEDICATED, INTERRUPTS: calls(117)}

    assert "--watch" in judge(CHECK, tmp_path, files, GUEST).needs
    quiet = replace(GUEST, watched=watched(117, 117))
    assert judge(CHECK, tmp_path, files, quiet).state is State.PASS


def test_a_log_that_no_longer_holds_the_boot_is_unknown(tmp_path: Path) -> None:
    files = {DMESG: "[ 99.0] eth0: link up\n", INTERRUPTS: calls(0)}

    assert judge(CHECK, tmp_path, files, GUEST).state is State.UNKNOWN


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, GUEST).state is State.UNKNOWN
    odd = {DMESG: DEDICATED, INTERRUPTS: "HYP: \x00\n"}
    assert judge(CHECK, tmp_path, odd, GUEST).state is State.UNKNOWN


def test_bare_metal_and_arm_are_not_asked(tmp_path: Path) -> None:
    arm = replace(GUEST, machine=replace(BARE_METAL, vendor="arm"))

    assert judge(CHECK, tmp_path, {DMESG: SHARED}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {DMESG: SHARED}, arm).state is State.NOT_APPLICABLE
