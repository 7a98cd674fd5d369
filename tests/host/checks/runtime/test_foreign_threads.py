from dataclasses import replace
from pathlib import Path

from host_threads import BOUND, KERNEL, thread_files
from host_tree import POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.foreign_threads import CHECK
from taut.host.host import Host
from taut.host.situation import Role, TraceEvent

POLLER = thread_files(500, "rte-worker-2", "2") | thread_files(501, "rte-worker-3", "3", pid=500)
ELSEWHERE = thread_files(600, "postgres", "0-1")
KERNEL_ONES = thread_files(20, "ksoftirqd/2", "2", flags=BOUND) | thread_files(
    21, "kswapd0", "0-3", flags=KERNEL
)
FOREIGN = thread_files(700, "cc1 (lto)", "0-3")


def test_one_thread_for_each_poll_core_is_good(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, POLLER | ELSEWHERE | KERNEL_ONES)

    assert finding.state is State.PASS
    assert "none of 3 threads may run on 2-3" in finding.observed


def test_a_thread_that_may_run_there_is_moved(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, POLLER | ELSEWHERE | KERNEL_ONES | FOREIGN)
    assert finding.state is State.FAIL
    assert "1 threads may run on 2-3: cc1 (lto) (700)" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [(c.setting.name, c.wanted) for c in remedies[0].changes] == [
            ("affinity of cc1 (lto) (700)", "0-1")
        ]
        assert [str(item) for item in remedies[1].boot] == ["systemd.cpu_affinity=0-1"]


def test_other_threads_of_the_polling_program_are_its_own(tmp_path: Path) -> None:
    control = thread_files(502, "eal-intr-thread", "0-3", pid=500)
    situation = replace(POLL, processes=(500,))

    assert judge(CHECK, tmp_path, POLLER | control, situation).state is State.PASS


def test_who_is_pinned_to_the_core_of_a_polling_program_is_moved_too(tmp_path: Path) -> None:
    hog = thread_files(800, "hog", "3")
    situation = replace(POLL, processes=(500,))

    finding = judge(CHECK, tmp_path, POLLER | hog, situation)
    now, *rest = CHECK.propose(Host(tmp_path), situation)

    assert finding.state is State.FAIL
    assert finding.observed == "1 threads may run on 2-3: hog (800)"
    assert [(c.setting.name, c.wanted) for c in now.changes] == [("affinity of hog (800)", "0-1")]
    assert now.risk.startswith("1 of them are pinned there")
    assert "R24-by-hand" not in [remedy.id for remedy in rest]


def test_who_is_pinned_beside_nobody_known_to_poll_stays(tmp_path: Path) -> None:
    alone = thread_files(800, "my-poller", "3")
    known = thread_files(900, "rte-worker-2", "2")

    finding = judge(CHECK, tmp_path, alone | known, replace(POLL, processes=(900,)))

    assert finding.state is State.PASS


def test_two_threads_of_their_own_on_one_core_are_too_many(tmp_path: Path) -> None:
    second = thread_files(502, "rte-worker-4", "3", pid=500)

    finding = judge(CHECK, tmp_path, POLLER | second)

    assert finding.state is State.FAIL
    assert "core 3 has 2 threads of its own" in finding.observed
    assert [remedy.id for remedy in CHECK.propose(Host(tmp_path), POLL)] == ["R24-by-hand"]


def test_what_was_seen_to_run_is_named(tmp_path: Path) -> None:
    def switch(core: int, comm: str, pid: int) -> TraceEvent:
        fields = f"prev_comm=a b prev_pid=1 ==> next_comm={comm} next_pid={pid} next_prio=120"
        return TraceEvent(core, "x", 1, "sched_switch", fields)

    events = [
        *[switch(2, "cc1 (lto)", 700)] * 3,
        switch(2, "swapper/2", 0),
        switch(3, "kswapd0", 21),
        switch(1, "postgres", 600),
        switch(2, "gone", 999),
    ]

    finding = judge(
        CHECK, tmp_path, POLLER | ELSEWHERE | KERNEL_ONES | FOREIGN, replace(POLL, events=events)
    )

    assert "ran there while traced: cc1 (lto) (3 times)" in finding.observed
    assert "kswapd0" not in finding.observed


def test_nobody_named_cores(tmp_path: Path) -> None:
    unnamed = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, ELSEWHERE, unnamed).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, ELSEWHERE | FOREIGN, unnamed).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), unnamed) == ()


def test_a_container_does_not_see_all(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)

    assert judge(CHECK, tmp_path, POLLER, container).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, POLLER | FOREIGN, container).state is State.FAIL


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
    odd = {"/proc/40/stat": "40 (odd", "/proc/40/status": "Cpus_allowed_list:\t²\n"}
    assert judge(CHECK, tmp_path, odd).state is State.UNKNOWN
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)
    assert judge(CHECK, tmp_path, FOREIGN, housekeeping).state is State.NOT_APPLICABLE
