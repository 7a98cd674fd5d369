from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.core_interrupts import CHECK
from taut.host.host import Host
from taut.host.situation import Role, TraceEvent

EVENT = {"/sys/kernel/tracing/events/ipi/ipi_send_cpu/enable": "0\n"}


def one(target: int, comm: str = "turbostat", call: str = "rdmsr_on_cpu") -> TraceEvent:
    fields = f"cpu={target} callsite={call}+0x20/0x60 callback=0x0"
    return TraceEvent(0, comm, 9, "ipi_send_cpu", fields)


def several(mask: str) -> TraceEvent:
    fields = f"cpumask={mask} callsite=on_each_cpu_cond_mask+0x20/0x60 callback=0x0"
    return TraceEvent(1, "python", 9, "ipi_send_cpumask", fields)


def test_no_interrupt_to_a_poll_core_is_good(tmp_path: Path) -> None:
    traced = replace(POLL, events=[one(1), several("00000000,00000003")])

    assert judge(CHECK, tmp_path, EVENT, traced).state is State.PASS


def test_who_interrupts_them_is_named(tmp_path: Path) -> None:
    traced = replace(POLL, events=[one(2), one(2), one(1), several("00000000,00000006")])

    finding = judge(CHECK, tmp_path, EVENT, traced)

    assert finding.state is State.FAIL
    assert "3 or more to 2-3: turbostat by rdmsr_on_cpu (2 times)" in finding.observed
    assert "python by on_each_cpu_cond_mask (1 times)" in finding.observed
    assert "turbostat" in CHECK.propose(Host(tmp_path), traced)[0].by_hand


def test_untraced_it_is_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, EVENT)

    assert finding.state is State.UNKNOWN
    assert "--trace" in finding.needs


def test_a_kernel_without_the_event_cannot_tell(tmp_path: Path) -> None:
    old = {"/sys/kernel/tracing/events/sched/sched_switch/enable": "0\n"}

    finding = judge(CHECK, tmp_path, old, replace(POLL, events=[]))

    assert finding.state is State.UNKNOWN
    assert "6.4" in finding.needs


def test_housekeeping_has_nothing_to_judge(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, {}, housekeeping).state is State.NOT_APPLICABLE


def test_events_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    odd = [
        TraceEvent(0, "x", 1, "ipi_send_cpu", "cpu=two"),
        TraceEvent(0, "x", 1, "ipi_send_cpumask", "cpumask=,,"),
        TraceEvent(0, "x", 1, "ipi_send_cpumask", ""),
    ]

    assert judge(CHECK, tmp_path, EVENT, replace(POLL, events=odd)).state is State.PASS
