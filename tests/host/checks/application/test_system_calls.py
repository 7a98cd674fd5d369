from pathlib import Path

from host_pollers import MAIN, PROGRAM, SITUATION, of_thread, traced, watched
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.application.system_calls import CHECK
from taut.host.situation import TraceEvent


def call(pid: int, number: int = 230) -> TraceEvent:
    return TraceEvent(2, "x", pid, "sys_enter", f"NR {number} (1, 2, 3, 4, 5, 6)")


def io(reads: str) -> dict[str, str]:
    return {of_thread(MAIN, "io"): f"rchar: 1\nsyscr: {reads}\nsyscw: 2\n"}


def test_none_while_traced_is_good(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, traced(call(502), call(9))).state is State.PASS


def test_calls_of_a_polling_thread_fail_with_their_number(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, PROGRAM, traced(call(MAIN), call(MAIN), call(501, 0)))

    assert finding.state is State.FAIL
    assert "3 or more: rte-worker-2 (500): system call 230 (2 times)" in finding.observed


def test_reads_show_without_tracing(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, PROGRAM, watched(io("5"), io("12")))

    assert finding.state is State.FAIL
    assert "7 reads and writes" in finding.observed


def test_no_read_proves_nothing_without_tracing(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, watched(io("5"), io("5"))).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.UNKNOWN


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, PROGRAM, watched(io("x"), io("-"))).state is State.UNKNOWN
    odd = traced(TraceEvent(2, "x", MAIN, "sys_enter", "NR"))
    assert judge(CHECK, tmp_path, PROGRAM, odd).state is State.PASS
