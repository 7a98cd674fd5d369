from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.memory_limits import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CONTAINER = replace(POLL, role=Role.CONTAINER)
PAGES = "/sys/fs/cgroup/hugetlb.2MB.max"


def limits(text: str, process: str = "self") -> dict[str, str]:
    head = "Limit                     Soft Limit           Hard Limit           Units\n"
    line = f"Max locked memory         {text:20} {text:20} bytes\n" if text else ""
    return {f"/proc/{process}/limits": head + line}


def test_no_limits_pass(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, limits("unlimited") | {PAGES: "max\n"}, CONTAINER)

    assert finding.state is State.PASS
    assert "2MB max" in finding.observed


def test_a_limit_of_locked_memory_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, limits("65536"), CONTAINER)

    assert finding.state is State.FAIL
    assert "process self may lock 65536 bytes" in finding.observed
    (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
    assert "--ulimit memlock=-1" in remedy.by_hand


def test_no_hugepage_of_any_size_fails(tmp_path: Path) -> None:
    files = limits("unlimited") | {PAGES: "0\n"}

    assert "no hugepage" in judge(CHECK, tmp_path, files, CONTAINER).observed
    files[PAGES.replace("2MB", "1GB")] = "1073741824\n"
    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.PASS


def test_the_programs_that_poll_count(tmp_path: Path) -> None:
    files = limits("unlimited") | limits("1024", "77")

    finding = judge(CHECK, tmp_path, files, replace(CONTAINER, processes=(77,)))

    assert "process 77 may lock 1024" in finding.observed


def test_the_limit_does_not_count_for_who_may_lock_anything(tmp_path: Path) -> None:
    for rights, state in (("0000000000004000", State.PASS), ("0000000000003fff", State.FAIL)):
        files = limits("65536") | {"/proc/self/status": f"CapEff:\t{rights}\n"}

        assert judge(CHECK, tmp_path, files, CONTAINER).state is state


@pytest.mark.parametrize("files", [{}, limits(""), limits("lots")])
def test_absent_or_malformed_is_unknown(tmp_path: Path, files: dict[str, str]) -> None:
    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, limits("0"), POLL).state is State.NOT_APPLICABLE
