from dataclasses import replace
from pathlib import Path

from guest_tree import KVM_HOST
from host_tree import POLL, judge
from taut.host.check import Finding, State
from taut.host.checks.kvm_host.exit_rate import CHECK
from taut.host.situation import TraceEvent, Watched

PATH = "/sys/kernel/debug/kvm/700-12/exits"
NOBODY_SAID = replace(KVM_HOST, cores=())


def watched(root: Path, before: str, after: str, seconds: float = 5.0) -> Finding:
    situation = replace(NOBODY_SAID, watched=Watched(seconds, {PATH: before}, {PATH: after}))
    return judge(CHECK, root, {}, situation)


def traced(root: Path, count: int) -> Finding:
    fields = "reason EXTERNAL_INTERRUPT rip 0xffffffff81 info 0 80000"
    events = [TraceEvent(3, "CPU 1/KVM", 702, "kvm_exit", fields)] * count
    situation = replace(KVM_HOST, watched=Watched(5.0), events=events)
    return judge(CHECK, root, {}, situation)


def test_a_guest_left_alone_passes(tmp_path: Path) -> None:
    finding = watched(tmp_path, "1000\n", "1020\n")

    assert finding.state is State.PASS
    assert "guest 700-12: 4 exits/s" in finding.observed


def test_a_guest_that_exits_all_the_time_fails(tmp_path: Path) -> None:
    finding = watched(tmp_path, "1000\n", "6000\n")

    assert finding.state is State.FAIL
    assert "1000 exits/s" in finding.observed


def test_events_tell_the_core_and_the_reason(tmp_path: Path) -> None:
    finding = traced(tmp_path, 2500)

    assert finding.state is State.FAIL
    assert finding.cores == (3,)
    assert "core 3: 500 exits/s" in finding.observed
    assert "EXTERNAL_INTERRUPT 2500" in finding.observed
    assert traced(tmp_path, 10).state is State.PASS


def test_a_counter_of_the_whole_guest_does_not_name_the_core(tmp_path: Path) -> None:
    situation = replace(KVM_HOST, watched=Watched(1.0, {PATH: "0\n"}, {PATH: "900\n"}))

    finding = judge(CHECK, tmp_path, {}, situation)

    assert finding.state is State.UNKNOWN
    assert "--trace" in finding.needs


def test_what_was_not_watched_or_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert "--watch" in judge(CHECK, tmp_path, {}, NOBODY_SAID).needs
    assert watched(tmp_path, "many\n", "more\n").state is State.UNKNOWN
    assert watched(tmp_path, "1\n", "2\n", seconds=0.0).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, POLL).state is State.NOT_APPLICABLE
