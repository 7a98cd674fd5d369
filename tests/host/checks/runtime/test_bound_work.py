from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.bound_work import CHECK
from taut.host.host import Host
from taut.host.situation import Role, Situation, TraceEvent, Watched


def work(core: int, comm: str = "kworker/2:1", fields: str = "") -> TraceEvent:
    text = fields or "work struct 00000000a1b2c3d4: function vmstat_update"
    return TraceEvent(core, comm, 77, "workqueue_execute_start", text)


def traced(*events: TraceEvent) -> Situation:
    return replace(POLL, events=events, watched=Watched(60.0))


def test_nothing_ran_there(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, traced(work(0, "kworker/0:1")))

    assert finding.state is State.PASS
    assert "60 s" in finding.observed


def test_functions_are_counted_the_most_frequent_first(tmp_path: Path) -> None:
    drain = "work struct 0000000011112222: function lru_add_drain_per_cpu"
    situation = replace(POLL, events=(work(2, fields=drain), work(2), work(2)))

    finding = judge(CHECK, tmp_path, {}, situation)

    assert finding.state is State.FAIL
    assert finding.cores == (2,)
    assert "vmstat_update 2 times, lru_add_drain_per_cpu 1 times" in finding.observed
    assert CHECK.propose(Host(tmp_path), situation)[0].by_hand


def test_unbound_workers_and_other_events_are_not_judged(tmp_path: Path) -> None:
    other = TraceEvent(2, "x", 1, "tick_stop", "success=0 dependency=SCHED")
    situation = replace(POLL, events=(work(2, "kworker/u8:3"), other))

    assert judge(CHECK, tmp_path, {}, situation).state is State.PASS


def test_an_event_in_another_format_still_counts(tmp_path: Path) -> None:
    situation = replace(POLL, events=(work(3, fields="\x00 ???"),))

    assert "an unnamed function 1 times" in judge(CHECK, tmp_path, {}, situation).observed


def test_a_kernel_without_the_event_does_not_pass(tmp_path: Path) -> None:
    events = "/sys/kernel/tracing/events"
    files = {f"{events}/timer/tick_stop/id": "1\n"}
    assert judge(CHECK, tmp_path, files, traced()).state is State.UNKNOWN

    files = {f"{events}/workqueue/workqueue_execute_start/id": "2\n"}
    assert judge(CHECK, tmp_path, files, traced()).state is State.PASS


def test_without_a_trace_nobody_knows(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {})

    assert finding.state is State.UNKNOWN
    assert "--trace" in finding.needs


def test_with_no_polling_core_named_it_asks_for_them(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, replace(POLL, cores=(), events=(work(2),)))

    assert finding.state is State.UNKNOWN
    assert "--cores" in finding.needs


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING, events=(work(2),))

    assert judge(CHECK, tmp_path, {}, housekeeping).state is State.NOT_APPLICABLE
