from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.tick_reason import CHECK
from taut.host.host import Host
from taut.host.situation import Role, TraceEvent

TICKLESS = {
    "/sys/devices/system/cpu/nohz_full": "2-3\n",
    "/sys/kernel/tracing/events/timer/tick_stop/enable": "0\n",
}


def event(core: int, success: int, dependency: str) -> TraceEvent:
    fields = f"success={success} dependency={dependency}"
    return TraceEvent(core, "x", 1, "tick_stop", fields)


def test_a_tick_that_stops_is_good(tmp_path: Path) -> None:
    traced = replace(POLL, events=[event(2, 1, "NONE"), event(1, 0, "SCHED")])

    assert judge(CHECK, tmp_path, TICKLESS, traced).state is State.PASS


def test_what_keeps_it_is_named_with_what_to_do(tmp_path: Path) -> None:
    events = [event(3, 0, "POSIX_TIMER"), event(3, 0, "POSIX_TIMER"), event(3, 0, "SCHED")]
    traced = replace(POLL, events=events)

    finding = judge(CHECK, tmp_path, TICKLESS, traced)

    assert (finding.state, finding.cores) == (State.FAIL, (3,))
    assert "core 3: POSIX_TIMER (2 times)" in finding.observed
    assert "SCHED: more than one runnable" in CHECK.propose(Host(tmp_path), traced)[0].by_hand


def test_untraced_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, TICKLESS).state is State.UNKNOWN


def test_cores_that_keep_their_tick_anyhow_have_nothing_to_judge(tmp_path: Path) -> None:
    for nohz_full in ("(null)\n", "\n", "1\n"):
        files = TICKLESS | {"/sys/devices/system/cpu/nohz_full": nohz_full}
        assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path / "absent", {}).state is State.NOT_APPLICABLE
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)
    assert judge(CHECK, tmp_path, TICKLESS, housekeeping).state is State.NOT_APPLICABLE


def test_events_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    odd = replace(POLL, events=[TraceEvent(2, "x", 1, "tick_stop", "success=maybe")])

    assert judge(CHECK, tmp_path, TICKLESS, odd).state is State.PASS
