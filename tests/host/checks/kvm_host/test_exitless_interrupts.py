from pathlib import Path

from guest_tree import KVM_HOST
from host_tree import POLL, judge, put, remedied, tree
from taut.host.boot.item import ModuleOption
from taut.host.check import State
from taut.host.checks.kvm_host.exitless_interrupts import CHECK
from taut.host.host import Host

APICV = "/sys/module/kvm_intel/parameters/enable_apicv"
AVIC = "/sys/module/kvm_amd/parameters/avic"
TIMER = "/sys/module/kvm/parameters/pi_inject_timer"


def test_both_on_pass(tmp_path: Path) -> None:
    files = {APICV: "Y\n", TIMER: "1\n"}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


def test_avic_off_fails_and_waits_for_the_next_boot(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {AVIC: "0\n", TIMER: "1\n"}, KVM_HOST)

    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(Host(tmp_path), KVM_HOST)
    assert remedy.boot == (ModuleOption("kvm_amd", "avic", "1"),)


def test_timers_can_be_injected_at_once(tmp_path: Path) -> None:
    put(tmp_path, APICV, "Y\n")
    assert judge(CHECK, tmp_path, {TIMER: "-1\n"}, KVM_HOST).state is State.FAIL

    with remedied(CHECK, tmp_path, KVM_HOST) as (now, boot):
        assert now.id == "V08-now"
        assert boot.boot == (ModuleOption("kvm", "pi_inject_timer", "1"),)


def test_a_kernel_without_the_timers_is_judged_by_the_rest(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {APICV: "Y\n"}, KVM_HOST).state is State.PASS


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, KVM_HOST).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {APICV: "maybe\n"}, KVM_HOST).state is State.UNKNOWN
    assert CHECK.inspect(tree(tmp_path, {APICV: "N\n"}), POLL).state is State.NOT_APPLICABLE
