from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge
from taut.host.check import State
from taut.host.checks.kernel.preemption_model import CHECK
from taut.host.situation import Role

PATH = "/proc/sys/kernel/version"
DYNAMIC = {PATH: "#1 SMP PREEMPT_DYNAMIC Debian 6.12\n"}
REAL_TIME = {PATH: "#1 SMP PREEMPT_RT Debian 6.12\n"}


def test_a_poller_takes_any_model_and_the_mode_is_told(tmp_path: Path) -> None:
    mode = {"/sys/kernel/debug/sched/preempt": "none (voluntary) full\n"}

    finding = judge(CHECK, tmp_path, DYNAMIC | mode)

    assert finding.state is State.PASS
    assert "(voluntary)" in finding.observed


def test_a_host_without_real_time_cannot_know_its_guests(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, DYNAMIC, replace(POLL, role=Role.KVM_HOST))

    assert finding.state is State.UNKNOWN
    assert "guests" in finding.needs


def test_a_real_time_host_suits_every_guest(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, REAL_TIME, replace(POLL, role=Role.KVM_HOST)).state is State.PASS


def test_a_real_time_guest_asks_for_its_host(tmp_path: Path) -> None:
    machine = replace(BARE_METAL, is_realtime=True)

    finding = judge(CHECK, tmp_path, REAL_TIME, replace(POLL, machine=machine, role=Role.KVM_GUEST))

    assert finding.state is State.UNKNOWN
    assert "host" in finding.needs


def test_a_kernel_that_names_no_model_has_no_preemption(tmp_path: Path) -> None:
    assert "no preemption" in judge(CHECK, tmp_path, {PATH: "#1 SMP\n"}).observed


def test_no_version_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
