from dataclasses import replace
from pathlib import Path

from guest_tree import KVM_HOST, guest
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.kvm_host.host_cores import CHECK
from taut.host.host import Host

CPU = "/sys/devices/system/cpu"
QUIET = {
    f"{CPU}/online": "0-3\n",
    f"{CPU}/isolated": "2-3\n",
    f"{CPU}/nohz_full": "2-3\n",
    "/proc/irq/24/effective_affinity_list": "0\n",
    "/sys/kernel/irq/24/actions": "eth0-rx\n",
}
NOBODY_SAID = replace(KVM_HOST, cores=())


def test_isolated_tickless_and_without_interrupts_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, QUIET, KVM_HOST).state is State.PASS


def test_each_of_the_three_fails_with_its_cores(tmp_path: Path) -> None:
    files = QUIET | {
        f"{CPU}/isolated": "2\n",
        f"{CPU}/nohz_full": "(null)\n",
        "/proc/irq/24/effective_affinity_list": "3\n",
    }

    finding = judge(CHECK, tmp_path, files, KVM_HOST)

    assert finding.state is State.FAIL
    assert finding.observed == (
        "cores 3 not isolated (K04); 2-3 with a tick (K06); 3 with device interrupts (R02)"
    )
    assert finding.cores == (2, 3)
    (remedy,) = CHECK.propose(Host(tmp_path), KVM_HOST)
    assert "K04, K06 and R02" in remedy.summary


def test_a_partition_isolates_as_well(tmp_path: Path) -> None:
    files = QUIET | {f"{CPU}/isolated": "\n", "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n"}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


def test_an_interrupt_nobody_asked_for_does_not_count(tmp_path: Path) -> None:
    files = QUIET | {
        "/proc/irq/24/effective_affinity_list": "3\n",
        "/sys/kernel/irq/24/actions": "\n",
    }

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.PASS


def test_cores_nobody_named_are_those_a_guest_is_pinned_to(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, QUIET | guest(), NOBODY_SAID)

    assert finding.state is State.PASS
    assert finding.cores == (2, 3)


def test_without_cores_or_sys_it_is_unknown(tmp_path: Path) -> None:
    assert "--cores" in judge(CHECK, tmp_path / "a", QUIET, NOBODY_SAID).needs
    assert judge(CHECK, tmp_path / "b", {}, KVM_HOST).state is State.UNKNOWN


def test_malformed_lists_isolate_nothing(tmp_path: Path) -> None:
    files = QUIET | {f"{CPU}/isolated": "0-99999999999\n", f"{CPU}/nohz_full": "3-x\n"}

    assert judge(CHECK, tmp_path, files, KVM_HOST).state is State.FAIL


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, QUIET, POLL).state is State.NOT_APPLICABLE
