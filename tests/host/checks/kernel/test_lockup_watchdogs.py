from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge, remedied, tree
from taut.host.check import Profile, State
from taut.host.checks.kernel.lockup_watchdogs import CHECK

FOLDER = "/proc/sys/kernel"


def machine(cores: str, nmi: str = "1", soft: str = "1") -> dict[str, str]:
    return {
        f"{FOLDER}/watchdog": f"{int(nmi == '1' or soft == '1')}\n",
        f"{FOLDER}/nmi_watchdog": f"{nmi}\n",
        f"{FOLDER}/soft_watchdog": f"{soft}\n",
        f"{FOLDER}/watchdog_cpumask": f"{cores}\n",
    }


@pytest.mark.parametrize("files", [machine("0-1"), machine("0-3", nmi="0", soft="0")])
def test_watchdogs_elsewhere_or_off_pass(files: dict[str, str], tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_one_switch_off_is_not_enough(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, machine("0-3", nmi="0"))

    assert finding.state is State.FAIL
    assert "soft_watchdog=1" in finding.observed


def test_watched_poll_cores_fail_and_are_taken_out_of_the_list(tmp_path: Path) -> None:
    tree(tmp_path, machine("0-3"))

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K20-now", "K20-boot", "K20-boot-2"]
        assert remedies[0].changes[0].wanted == "0-1"
        assert remedies[2].profile is Profile.EXTREME
        assert [str(item) for item in remedies[2].boot] == ["nmi_watchdog=0", "nosoftlockup"]


def test_where_nobody_named_cores_a_part_of_them_is_unknown(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, machine("0-3"), nobody).state is State.FAIL
    assert judge(CHECK, tmp_path, machine("0-1"), nobody).state is State.UNKNOWN


def test_a_kernel_without_watchdogs_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_list_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine("all")).state is State.UNKNOWN
