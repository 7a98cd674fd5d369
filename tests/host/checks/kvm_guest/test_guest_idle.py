from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, SLEEP, judge, remedied
from taut.host.check import Profile, Severity, State
from taut.host.checks.kvm_guest.guest_idle import CHECK
from taut.host.host import Host
from taut.host.situation import Role, Situation, Waiting

IDLE = "/sys/devices/system/cpu/cpuidle"
GOVERNOR = f"{IDLE}/current_governor"
AVAILABLE = f"{IDLE}/available_governors"
POLL_NS = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
POLLS = replace(POLL, role=Role.KVM_GUEST)
SLEEPS = replace(SLEEP, role=Role.KVM_GUEST)
BOTH = replace(SLEEPS, waiting=frozenset(Waiting))
IDLES = replace(POLLS, cores=())


def test_poll_cores_never_idle(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {GOVERNOR: "haltpoll\n", POLL_NS: "0\n"}, POLLS)

    assert finding.state is State.NOT_APPLICABLE
    assert "polls 0 ns" in finding.observed


@pytest.mark.parametrize("situation", [SLEEPS, BOTH])
def test_a_core_that_sleeps_pays_at_every_packet(situation: Situation, tmp_path: Path) -> None:
    files = {GOVERNOR: "haltpoll\n", AVAILABLE: "menu haltpoll\n", POLL_NS: "0\n"}
    finding = judge(CHECK, tmp_path, files, situation)

    assert finding.state is State.FAIL
    assert finding.severity is Severity.MAJOR
    with remedied(CHECK, tmp_path, situation) as remedies:
        assert remedies[0].id == "G05-now"
        assert remedies[0].profile <= Profile.RECOMMENDED


def test_where_nobody_sleeps_for_packets_it_is_minor(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {GOVERNOR: "haltpoll\n", POLL_NS: "0\n"}, IDLES)

    assert finding.severity is Severity.MINOR


def test_haltpoll_that_polls_passes(tmp_path: Path) -> None:
    files = {GOVERNOR: "haltpoll\n", POLL_NS: "200000\n"}

    assert judge(CHECK, tmp_path, files, IDLES).state is State.PASS


def test_haltpoll_that_polls_for_no_time_fails_and_is_given_some(tmp_path: Path) -> None:
    files = {GOVERNOR: "haltpoll\n", AVAILABLE: "menu haltpoll\n", POLL_NS: "0\n"}

    assert judge(CHECK, tmp_path, files, IDLES).state is State.FAIL
    with remedied(CHECK, tmp_path, IDLES) as remedies:
        assert remedies[0].changes[-1].wanted == "200000"


def test_another_governor_fails_and_is_replaced(tmp_path: Path) -> None:
    files = {GOVERNOR: "menu\n", AVAILABLE: "ladder menu haltpoll\n", POLL_NS: "200000\n"}

    assert judge(CHECK, tmp_path, files, IDLES).state is State.FAIL
    with remedied(CHECK, tmp_path, IDLES) as remedies:
        assert [remedy.id for remedy in remedies] == ["G05-now", "G05-boot"]


def test_a_kernel_that_has_not_loaded_it_boots_with_it(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {GOVERNOR: "menu\n"}, IDLES).state is State.FAIL

    (remedy,) = CHECK.propose(Host(tmp_path), IDLES)
    assert str(remedy.boot[0]) == "cpuidle_haltpoll.force=1"


def test_absent_or_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, IDLES).state is State.UNKNOWN
    odd = {GOVERNOR: "haltpoll\n", POLL_NS: "long\n"}
    assert judge(CHECK, tmp_path, odd, IDLES).state is State.UNKNOWN


def test_bare_metal_is_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {GOVERNOR: "menu\n"}).state is State.NOT_APPLICABLE
