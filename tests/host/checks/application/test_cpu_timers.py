from pathlib import Path

import pytest

from host_pollers import PROGRAM, SITUATION, traced
from host_threads import thread_files
from host_tree import POLL, judge, put
from taut.host.check import State
from taut.host.checks.application.cpu_timers import CHECK
from taut.host.situation import TraceEvent

TIMERS, LIMITS = "/proc/500/timers", "/proc/500/limits"
UNLIMITED = "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  unlimited  unlimited  seconds\n"
QUIET = PROGRAM | {TIMERS: "", LIMITS: UNLIMITED}


def timer(clock: int) -> str:
    return f"ID: 0\nsignal: 14/0000\nnotify: signal/pid.500\nClockID: {clock}\n"


def test_no_timer_is_good(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, QUIET, SITUATION).state is State.PASS


def test_a_timer_of_another_clock_is_good(tmp_path: Path) -> None:
    files = QUIET | {TIMERS: timer(0) + timer(1)}

    assert judge(CHECK, tmp_path, files, SITUATION).state is State.PASS


@pytest.mark.parametrize("clock", [2, 3, -6])
def test_a_timer_of_cpu_time_fails(clock: int, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, QUIET | {TIMERS: timer(1) + timer(clock)}, SITUATION)

    assert finding.state is State.FAIL
    assert "1 POSIX CPU timers" in finding.observed


def test_a_limit_of_cpu_time_fails(tmp_path: Path) -> None:
    limited = UNLIMITED.replace("unlimited", "3600", 1)

    finding = judge(CHECK, tmp_path, QUIET | {LIMITS: limited}, SITUATION)

    assert finding.state is State.FAIL
    assert "3600 s" in finding.observed


def test_counters_of_the_program_fail_and_those_of_others_do_not(tmp_path: Path) -> None:
    for pid in (42, 500):
        put(tmp_path, f"/proc/{pid}/comm", "x\n")
        (tmp_path / f"proc/{pid}/fd").mkdir()
    (tmp_path / "proc/42/fd/3").symlink_to("anon_inode:[perf_event]")
    assert judge(CHECK, tmp_path, QUIET, SITUATION).state is State.PASS

    (tmp_path / "proc/500/fd/3").symlink_to("anon_inode:[perf_event]")
    assert judge(CHECK, tmp_path, QUIET, SITUATION).state is State.FAIL


def test_what_the_kernel_said_fails(tmp_path: Path) -> None:
    fields = "success=0 dependency=POSIX_TIMER"
    event = TraceEvent(2, "x", 1, "tick_stop", fields)
    elsewhere = TraceEvent(0, "x", 1, "tick_stop", fields)

    finding = judge(CHECK, tmp_path, QUIET, traced(event, elsewhere))

    assert finding.state is State.FAIL
    assert finding.observed == "core 2: POSIX_TIMER keeps the tick"


def test_a_program_that_takes_the_signal_of_an_itimer_is_unknown(tmp_path: Path) -> None:
    profiled = thread_files(500, "rte-worker-2", "2", status="SigCgt:\t0000000004000000\n")

    finding = judge(CHECK, tmp_path, QUIET | profiled, SITUATION)

    assert finding.state is State.UNKNOWN
    assert "SIGPROF" in finding.observed


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, QUIET, POLL).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path / "a", PROGRAM, SITUATION).state is State.UNKNOWN
    odd = QUIET | {TIMERS: "ClockID: x\n", LIMITS: "Max cpu time"}
    assert judge(CHECK, tmp_path, odd, SITUATION).state is State.PASS
