from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, SLEEP, judge, tree
from taut.host.check import State
from taut.host.checks.kvm_guest.guest_isolation import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CPU = "/sys/devices/system/cpu"
ISOLATED = f"{CPU}/isolated"
NOHZ = f"{CPU}/nohz_full"
IRQS = "/proc/irq/default_smp_affinity"
GOOD = {ISOLATED: "2-3\n", NOHZ: "2-3\n", IRQS: "3\n"}
GUEST = replace(POLL, role=Role.KVM_GUEST)


def boot_of(root: Path) -> list[str]:
    remedies = CHECK.propose(Host(root), GUEST)
    return [str(item) for remedy in remedies for item in remedy.boot]


def test_isolated_cores_without_tick_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, GOOD, GUEST).state is State.PASS
    assert boot_of(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "text", "words", "parameter"),
    [
        (ISOLATED, "\n", "2-3 not isolated", "isolcpus=domain,managed_irq,2-3"),
        (ISOLATED, "2\n", "3 not isolated", "isolcpus=domain,managed_irq,2-3"),
        (NOHZ, "(null)\n", "2-3 with tick", "nohz_full=2-3"),
        (NOHZ, "2\n", "3 with RCU callbacks", "rcu_nocbs=2-3"),
        (IRQS, "0000000b\n", "3 in the mask of new interrupts", "irqaffinity=0-1"),
    ],
)
def test_what_is_not_in_force_fails_and_is_booted_with(
    path: str, text: str, words: str, parameter: str, tmp_path: Path
) -> None:
    finding = judge(CHECK, tmp_path, {**GOOD, path: text}, GUEST)

    assert finding.state is State.FAIL
    assert words in finding.observed
    assert parameter in boot_of(tmp_path)


def test_a_cpuset_partition_isolates_as_well(tmp_path: Path) -> None:
    files = {**GOOD, ISOLATED: "\n", "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n"}

    assert judge(CHECK, tmp_path, files, GUEST).state is State.PASS


def test_cores_in_no_scheduling_domain_are_isolated(tmp_path: Path) -> None:
    schedstat = "version 17\ncpu0 0\ndomain0 3 0\ncpu1 0\ndomain0 3 0\ncpu2 0\ncpu3 0\n"
    files = {**GOOD, ISOLATED: "\n", "/proc/schedstat": schedstat}

    assert judge(CHECK, tmp_path, files, GUEST).state is State.PASS


def test_a_kernel_without_nohz_full_is_not_booted_with_it(tmp_path: Path) -> None:
    files = {ISOLATED: "2-3\n", IRQS: "3\n", "/proc/cmdline": "quiet rcu_nocbs=2-3\n"}

    finding = judge(CHECK, tmp_path, files, GUEST)

    assert finding.state is State.FAIL
    assert "kernel without NO_HZ_FULL" in finding.observed
    assert "RCU" not in finding.observed
    assert boot_of(tmp_path) == []
    assert "NO_HZ_FULL" in CHECK.propose(Host(tmp_path), GUEST)[0].by_hand


def test_what_the_kernel_said_of_rcu_counts_more_than_the_command_line(tmp_path: Path) -> None:
    said = "[    0.0] rcu: \tOffload RCU callbacks from CPUs: 2.\n"
    files = {ISOLATED: "2-3\n", "/proc/cmdline": "rcu_nocbs=2-3\n", "/commands/dmesg": said}

    assert "3 with RCU callbacks" in judge(CHECK, tmp_path, files, GUEST).observed


def test_without_named_cores_only_no_isolation_at_all_fails(tmp_path: Path) -> None:
    nobody = replace(GUEST, cores=())

    assert judge(CHECK, tmp_path, {ISOLATED: "\n"}, nobody).state is State.FAIL
    assert CHECK.propose(tree(tmp_path, {}), nobody)[0].by_hand
    assert judge(CHECK, tmp_path, {ISOLATED: "2\n"}, nobody).state is State.UNKNOWN


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, GUEST).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, {ISOLATED: "0-999999999\n"}, GUEST).state is State.UNKNOWN
    odd = {ISOLATED: "2-3\n", NOHZ: "yes\n"}
    assert judge(CHECK, tmp_path, odd, GUEST).state is State.UNKNOWN


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {ISOLATED: "\n"}).state is State.NOT_APPLICABLE


def test_a_core_that_sleeps_needs_no_nohz_full(tmp_path: Path) -> None:
    sleeps = replace(SLEEP, role=Role.KVM_GUEST)
    files = {**GOOD, "/proc/cmdline": "rcu_nocbs=2-3\n"}
    del files[NOHZ]

    assert judge(CHECK, tmp_path, files, GUEST).state is State.FAIL
    assert judge(CHECK, tmp_path, files, sleeps).state is State.PASS
    assert not CHECK.propose(Host(tmp_path), sleeps)
