from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied
from taut.host.boot.item import SysfsValue
from taut.host.check import State
from taut.host.checks.runtime.workqueue_cpumask import CHECK
from taut.host.host import Host
from taut.host.situation import Role

PATH = "/sys/devices/virtual/workqueue/cpumask"
WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"


def test_housekeeping_cores_only(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "00000000,00000003\n"}).state is State.PASS


def test_a_mask_with_polling_cores_is_written_in_the_kernels_form(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {PATH: "00,0000000f\n"})
    assert finding.state is State.FAIL
    assert finding.cores == (2, 3)
    assert "cores 0-3" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        assert now.changes[0].wanted == "3"
        assert boot.boot == (SysfsValue(PATH, "3"),)


def test_writeback_is_bound_by_the_common_mask(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "3\n", WRITEBACK: "f\n"}).state is State.PASS
    finding = judge(CHECK, tmp_path, {PATH: "f\n", WRITEBACK: "1\n"})

    assert finding.state is State.FAIL
    assert "writeback 0" in finding.observed


def test_a_kernel_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_mask_is_unknown(tmp_path: Path) -> None:
    for text in ("", "none\n", "\x80\x00\n", "0\n"):
        assert judge(CHECK, tmp_path, {PATH: text}).state is State.UNKNOWN, text


def test_every_core_is_wrong_whichever_polls(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())
    assert judge(CHECK, tmp_path, {PATH: "f\n"}, nobody).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), nobody) == ()

    assert judge(CHECK, tmp_path, {PATH: "3\n"}, nobody).state is State.UNKNOWN


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, {PATH: "f\n"}, housekeeping).state is State.NOT_APPLICABLE
