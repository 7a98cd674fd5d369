from dataclasses import replace
from pathlib import Path

from host_threads import BOUND, thread_files
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.kernel_thread_priorities import CHECK
from taut.host.situation import Role

FIFO = 1
RT = replace(POLL, role=Role.KVM_HOST, machine=replace(POLL.machine, is_realtime=True))


def per_core(rcuc: int, ktimers: int, ksoftirqd: int) -> dict[str, str]:
    files = {}
    priorities = {"rcuc": rcuc, "ktimers": ktimers, "ksoftirqd": ksoftirqd}
    for number, (name, priority) in enumerate(priorities.items()):
        scheduler = (FIFO if priority else 0, priority)
        for core in (0, 2):
            tid = 20 + 10 * core + number
            files |= thread_files(
                tid, f"{name}/{core}", str(core), flags=BOUND, scheduler=scheduler
            )
    return files


def test_the_priorities_of_tuned_are_enough(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, per_core(4, 2, 2), RT).state is State.PASS
    assert judge(CHECK, tmp_path, per_core(11, 11, 11), RT).state is State.PASS


def test_low_ones_on_poll_cores_are_raised(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, per_core(1, 2, 0), RT)
    assert finding.state is State.FAIL
    assert "2 of 3: rcuc/2 at 1, ksoftirqd/2 at 0" in finding.observed

    with remedied(CHECK, tmp_path, RT) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["fifo 4", "fifo 2"]
        assert [str(item) for item in remedies[1].boot] == ["rcutree.kthread_prio=11"]


def test_other_kernels_and_roles_have_nothing_to_judge(tmp_path: Path) -> None:
    files = per_core(1, 1, 1)

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE
    guest = replace(POLL, role=Role.KVM_GUEST)
    assert judge(CHECK, tmp_path, files, guest).state is State.NOT_APPLICABLE


def test_where_none_is_visible_or_makes_sense_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, RT).state is State.UNKNOWN
    odd = thread_files(20, "rcuc/two", "2", flags=BOUND) | {"/proc/21/stat": "(("}
    assert judge(CHECK, tmp_path, odd, RT).state is State.UNKNOWN
