from pathlib import Path

import pytest

from guest_tree import GOOD_THREADS, KVM_HOST, PID, guest
from host_tree import POLL, judge, put, remedied
from taut.host.check import State
from taut.host.checks.kvm_host.vcpu_pinning import CHECK
from taut.host.host import Host


def test_each_alone_and_the_rest_elsewhere_pass(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest(), KVM_HOST)

    assert finding.state is State.PASS
    assert "2 virtual CPUs on cores 2-3" in finding.observed


@pytest.mark.parametrize(
    ("threads", "said"),
    [
        (GOOD_THREADS | {"CPU 0/KVM": "0-3"}, "guest web: CPU 0/KVM may run on 0-3"),
        (GOOD_THREADS | {"CPU 1/KVM": "2"}, "CPU 1/KVM shares core 2"),
        (GOOD_THREADS | {"CPU 1/KVM": "1"}, "CPU 1/KVM is on core 1, not among 2-3"),
        (GOOD_THREADS | {"IO iothread1": "0-3"}, "IO iothread1 may run on 0-3"),
    ],
)
def test_what_is_not_pinned_fails_and_is_named(
    tmp_path: Path, threads: dict[str, str], said: str
) -> None:
    finding = judge(CHECK, tmp_path, guest(threads=threads), KVM_HOST)

    assert finding.state is State.FAIL
    assert said in finding.observed


def test_a_vhost_thread_beside_a_virtual_cpu_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest(vhost="0-2"), KVM_HOST)

    assert finding.state is State.FAIL
    assert f"vhost-{PID} may run on 0-2" in finding.observed


def test_pinning_the_threads_mends_it(tmp_path: Path) -> None:
    threads = dict.fromkeys(GOOD_THREADS, "0-3")
    judge(CHECK, tmp_path, guest(threads=threads, vhost="0-3"), KVM_HOST)

    with remedied(CHECK, tmp_path, KVM_HOST) as remedies:
        assert [remedy.id for remedy in remedies] == ["V01-now", "V01-by-hand"]


def test_more_virtual_cpus_than_cores_are_left_to_the_definition(tmp_path: Path) -> None:
    threads = GOOD_THREADS | {"CPU 2/KVM": "0-3"}
    judge(CHECK, tmp_path, guest(threads=threads), KVM_HOST)

    assert [remedy.id for remedy in CHECK.propose(Host(tmp_path), KVM_HOST)] == ["V01-by-hand"]


def test_threads_without_names_are_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, guest(threads={"qemu-system-x86": "0-3"}), KVM_HOST)

    assert finding.state is State.UNKNOWN
    assert "debug-threads=on" in finding.needs


def test_threads_that_vanish_or_make_no_sense_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, f"/proc/{PID}/task/799/stat", "799 (CPU 9/KVM) S\n")
    put(tmp_path, f"/proc/{PID}/task/799/status", "Cpus_allowed_list:\tmany\n")

    assert judge(CHECK, tmp_path, guest(), KVM_HOST).state is State.PASS


def test_without_a_guest_there_is_nothing_to_see(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, KVM_HOST)

    assert finding.state is State.UNKNOWN
    assert "start it" in finding.needs


def test_a_monitor_that_emulates_is_no_guest_of_kvm(tmp_path: Path) -> None:
    folder = tmp_path / f"proc/{PID}/fd"
    folder.mkdir(parents=True)
    (folder / "1").symlink_to("/dev/null")
    assert judge(CHECK, tmp_path, guest(), KVM_HOST).observed == "no guest runs"

    (folder / "9").symlink_to("anon_inode:kvm-vm")
    assert judge(CHECK, tmp_path, guest(), KVM_HOST).state is State.PASS


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, guest(), POLL).state is State.NOT_APPLICABLE
