from pathlib import Path

from host_pollers import PROGRAM, SITUATION, traced
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.application.membarrier import CHECK
from taut.host.situation import TraceEvent


def called(core: int, function: str) -> TraceEvent:
    return TraceEvent(core, "x", 1, "csd_function_entry", f"func={function}, csd=000000005ee2")


def test_none_on_the_cores_that_poll_is_good(tmp_path: Path) -> None:
    situation = traced(called(0, "ipi_mb"), called(2, "flush_tlb_func"), called(2, "ipi_mbox"))

    assert judge(CHECK, tmp_path, PROGRAM, situation).state is State.PASS


def test_one_there_fails(tmp_path: Path) -> None:
    situation = traced(called(2, "ipi_mb"), called(2, "ipi_mb"), called(3, "ipi_sync_core"))

    finding = judge(CHECK, tmp_path, PROGRAM, situation)

    assert finding.state is State.FAIL
    assert "core 2: ipi_mb (2 times), core 3: ipi_sync_core (1 times)" in finding.observed


def test_untraced_or_on_an_old_kernel_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.UNKNOWN

    old = {"/sys/kernel/tracing/events/sched/sched_switch/enable": "0\n"}
    finding = judge(CHECK, tmp_path, PROGRAM | old, traced())
    assert finding.state is State.UNKNOWN
    assert "6.5" in finding.needs


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
    odd = traced(TraceEvent(2, "x", 1, "csd_function_entry", "func="))
    assert judge(CHECK, tmp_path, PROGRAM, odd).state is State.PASS
