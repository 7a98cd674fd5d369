from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.tracing_access import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CONTAINER = replace(POLL, role=Role.CONTAINER)
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
STATUS = "/proc/self/status"
EVENT = {"/sys/kernel/tracing/events/timer/tick_stop/id": "1\n"}
NO_RIGHTS = {STATUS: "CapEff:\t00000000a80425fb\nSeccomp:\t2\n", PARANOID: "2\n"}
PERFMON = {STATUS: "CapEff:\t0000004000000000\nSeccomp:\t2\n", PARANOID: "2\n"}


@pytest.mark.parametrize("files", [PERFMON | EVENT, NO_RIGHTS | EVENT | {PARANOID: "1\n"}])
def test_tracefs_and_the_right_to_count_pass(tmp_path: Path, files: dict[str, str]) -> None:
    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.PASS


@pytest.mark.parametrize("files", [PERFMON, NO_RIGHTS | EVENT, NO_RIGHTS])
def test_one_of_them_alone_fails(tmp_path: Path, files: dict[str, str]) -> None:
    finding = judge(CHECK, tmp_path, files, CONTAINER)

    assert finding.state is State.FAIL
    assert "seccomp filters" in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
    assert "on the host" in remedy.by_hand and remedy.risk


@pytest.mark.parametrize(
    "files", [{}, NO_RIGHTS | {PARANOID: "x\n"}, NO_RIGHTS | {STATUS: "CapEff: ?\nSeccomp: 0\n"}]
)
def test_absent_or_malformed_is_unknown(tmp_path: Path, files: dict[str, str]) -> None:
    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NO_RIGHTS, POLL).state is State.NOT_APPLICABLE
