from dataclasses import replace
from pathlib import Path

from host_threads import KERNEL, thread_files
from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.interrupt_threads import CHECK

PATH = "/proc/cmdline"
REAL_TIME = replace(POLL, machine=replace(BARE_METAL, is_realtime=True), processes=(900,))
FIFO = 1
NIC = thread_files(50, "irq/40-eth0", "2", flags=KERNEL, scheduler=(FIFO, 50))


def poller(policy: int, priority: int) -> dict[str, str]:
    files = thread_files(900, "dut", "2", scheduler=(policy, priority))
    return files | {"/proc/900/task/900/stat": files["/proc/900/stat"]}


def test_without_the_parameter_all_is_well(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "quiet\n"} | NIC).state is State.PASS


def test_the_parameter_fails(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "threadirqs\n"}).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert "remove threadirqs" in remedy.by_hand


def test_on_a_real_time_kernel_the_poller_outranks_interrupt_threads(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NIC | poller(FIFO, 60), REAL_TIME).state is State.PASS


def test_interrupt_threads_that_outrank_the_poller_are_lowered(tmp_path: Path) -> None:
    tree(tmp_path, NIC | poller(FIFO, 40))

    with remedied(CHECK, tmp_path, REAL_TIME) as remedies:
        assert remedies[0].changes[0].wanted == "fifo 39"


def test_a_poller_without_priority_must_get_one_by_hand(tmp_path: Path) -> None:
    host = tree(tmp_path, NIC | poller(0, 0))

    assert judge(CHECK, tmp_path, {}, REAL_TIME).state is State.FAIL
    (remedy,) = CHECK.propose(host, REAL_TIME)
    assert "chrt" in remedy.by_hand


def test_interrupt_threads_elsewhere_do_not_matter(tmp_path: Path) -> None:
    away = thread_files(50, "irq/40-eth0", "0-1", flags=KERNEL, scheduler=(FIFO, 50))

    assert judge(CHECK, tmp_path, away | poller(0, 0), REAL_TIME).state is State.PASS


def test_without_a_poller_the_ranks_are_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, NIC, replace(REAL_TIME, processes=()))

    assert finding.state is State.UNKNOWN
    assert "program that polls" in finding.needs


def test_a_malformed_poller_is_unknown(tmp_path: Path) -> None:
    files = NIC | {"/proc/900/task/900/stat": "900 (dut) R x\n"}

    assert judge(CHECK, tmp_path, files, REAL_TIME).state is State.UNKNOWN


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
