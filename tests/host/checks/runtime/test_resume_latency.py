from dataclasses import replace
from pathlib import Path

from host_idle import held, idle_files
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.resume_latency import CHECK
from taut.host.host import Host
from taut.host.situation import Role

LIMIT = "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us"


def test_no_limit_fails_and_is_remedied_on_the_poll_cores_only(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, idle_files())
    assert finding.state is State.FAIL
    assert finding.cores == (2, 3)
    assert "core 2: C6 (133 µs) is open" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R19-now", "R19-boot"]
        assert next((c.setting.name, c.wanted) for c in remedies[0].changes) == (LIMIT, "2")
        assert len(remedies[0].changes) == 2


def test_no_latency_at_all_is_written_n_a(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, idle_files(limit="n/a")).state is State.PASS


def test_one_core_without_a_limit_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, idle_files(limit="2") | {LIMIT: "0\n"})

    assert (finding.state, finding.cores) == (State.FAIL, (2,))


def test_a_limit_held_for_all_cores_serves(tmp_path: Path) -> None:
    files = idle_files() | {"/dev/cpu_dma_latency": held(2)}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_nobody_named_cores_and_none_is_limited(tmp_path: Path) -> None:
    unnamed = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, idle_files(), unnamed).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), unnamed) == ()


def test_a_guest_and_a_machine_without_idle_states_have_nothing_to_judge(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, idle_files(), guest).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, idle_files(limit="never")).state is State.UNKNOWN
