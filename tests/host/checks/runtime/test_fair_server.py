from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.check import Profile, State
from taut.host.checks.runtime.fair_server import CHECK
from taut.host.host import Host
from taut.host.situation import Role

FOLDER = "/sys/kernel/debug/sched/fair_server"


def runtimes(*values: str) -> dict[str, str]:
    return {f"{FOLDER}/cpu{core}/runtime": f"{value}\n" for core, value in enumerate(values)}


def test_off_on_polling_cores_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, runtimes("50000000", "50000000", "0", "0"))

    assert finding.state is State.PASS


def test_the_default_fails_and_is_switched_off_on_polling_cores_only(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, runtimes("50000000", "50000000", "50000000", "0"))
    assert finding.state is State.FAIL
    assert finding.cores == (2,)
    assert "50000 µs on cores 2" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        (now,) = remedies
        assert [change.setting.name for change in now.changes] == [f"{FOLDER}/cpu2/runtime"]
        assert now.profile is Profile.EXTREME
        assert now.measure


def test_kernels_before_6_12_have_none(tmp_path: Path) -> None:
    old = replace(POLL, machine=replace(BARE_METAL, kernel=(6, 11)))

    assert judge(CHECK, tmp_path, runtimes("1"), old).state is State.NOT_APPLICABLE


def test_debugfs_that_is_not_mounted_hides_it(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {})

    assert finding.state is State.UNKNOWN
    assert "mount -t debugfs" in finding.needs


def test_who_may_not_look_into_debugfs_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "is_denied", lambda self, path: True)

    assert "run as root" in judge(CHECK, tmp_path / "a", {}).needs
    assert "lockdown" in judge(CHECK, tmp_path / "b", runtimes("?", "?", "?", "?")).needs


def test_a_kernel_built_without_it_has_nothing_to_judge(tmp_path: Path) -> None:
    files = {"/sys/kernel/debug/sched/debug": "Sched Debug Version: v0.11\n"}

    assert judge(CHECK, tmp_path, files).state is State.NOT_APPLICABLE


def test_what_is_no_number_or_not_there_is_unknown(tmp_path: Path) -> None:
    files = runtimes("0", "0", "0", "\x80")
    assert judge(CHECK, tmp_path / "a", files).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "b", runtimes("0", "0", "0")).state is State.UNKNOWN


def test_the_default_is_wrong_whichever_core_polls(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, runtimes(*["50000000"] * 4), nobody).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), nobody) == ()
    assert judge(CHECK, tmp_path, runtimes("9", "9", "0", "0"), nobody).state is State.UNKNOWN


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, runtimes("1"), housekeeping).state is State.NOT_APPLICABLE
