from dataclasses import replace
from pathlib import Path

from host_threads import BOUND, KERNEL, thread_files
from host_tree import POLL, SLEEP, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.kernel_threads import CHECK
from taut.host.host import Host
from taut.host.situation import Role

BOUND_ONES = thread_files(20, "ksoftirqd/2", "2", flags=BOUND) | thread_files(
    21, "irq/130-eth0", "3", flags=KERNEL
)
ELSEWHERE = thread_files(30, "kswapd0", "0-1", flags=KERNEL)
THERE = thread_files(31, "kcompactd0", "0-3", flags=KERNEL)
USER = thread_files(900, "bash", "0-3")


def test_threads_that_are_bound_or_elsewhere_are_fine(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, BOUND_ONES | ELSEWHERE | USER)

    assert finding.state is State.PASS
    assert "none of 1 may run on 2-3" in finding.observed
    assert "2 are bound or follow an interrupt" in finding.observed


def test_a_thread_that_may_run_there_is_moved(tmp_path: Path) -> None:
    pinned = thread_files(32, "rcuog/2", "2", flags=KERNEL)
    finding = judge(CHECK, tmp_path, BOUND_ONES | ELSEWHERE | THERE | pinned | USER)
    assert finding.state is State.FAIL
    assert "2 may run on 2-3: kcompactd0 (31), rcuog/2 (32)" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [(c.setting.name, c.wanted) for c in remedies[0].changes] == [
            ("affinity of kcompactd0 (31)", "0-1"),
            ("affinity of rcuog/2 (32)", "0-1"),
        ]


def test_nobody_named_cores(tmp_path: Path) -> None:
    unnamed = replace(POLL, cores=())

    finding = judge(CHECK, tmp_path, ELSEWHERE, unnamed)
    assert finding.state is State.UNKNOWN
    assert "--cores" in finding.needs
    assert judge(CHECK, tmp_path, THERE, unnamed).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), unnamed) == ()


def test_where_no_kernel_thread_is_visible_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, USER).state is State.UNKNOWN
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, USER, container).state is State.NOT_APPLICABLE


def test_what_makes_no_sense_is_passed_over(tmp_path: Path) -> None:
    odd = {"/proc/40/stat": "40 (odd) S 1\n", "/proc/40/status": "Cpus_allowed_list:\tall\n"}
    odd |= thread_files(41, "odder", "5-2", flags=KERNEL)
    assert judge(CHECK, tmp_path, odd).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, odd | ELSEWHERE).state is State.PASS


def test_threads_that_receive_the_packets_stay_where_a_device_sleeps(tmp_path: Path) -> None:
    files = thread_files(33, "napi/eth0-17", "2", flags=KERNEL) | ELSEWHERE | USER

    assert judge(CHECK, tmp_path, files, SLEEP).state is State.PASS
    assert judge(CHECK, tmp_path, files).state is State.FAIL
