from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.boot.item import Sysctl
from taut.host.check import State
from taut.host.checks.runtime.rt_throttling import CHECK
from taut.host.situation import Role

RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
PERIOD = "/proc/sys/kernel/sched_rt_period_us"
OLD = replace(POLL, machine=replace(BARE_METAL, kernel=(6, 1)), processes=(500,))
OFF = "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n"
LIMITED = {RUNTIME: "950000\n", PERIOD: "1000000\n"}


def thread(policy: object, number: int = 501) -> dict[str, str]:
    fields = ["S", *["0"] * 37, str(policy), *["0"] * 11]
    return {f"/proc/500/task/{number}/stat": f"{number} (poll (er) 1) {' '.join(fields)}\n"}


def test_a_fifo_poller_under_a_limit_fails_and_is_remedied(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, LIMITED | thread(0, 500) | thread(1), OLD)
    assert finding.state is State.FAIL
    assert "poll (er) 1 (501)" in finding.observed

    with remedied(CHECK, tmp_path, OLD) as remedies:
        assert remedies[1].boot == (Sysctl("kernel.sched_rt_runtime_us", "-1"),)


def test_round_robin_is_limited_too(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LIMITED | thread(2), OLD).state is State.FAIL


def test_no_limit_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LIMITED | thread(1) | {RUNTIME: "-1\n"}, OLD).state is State.PASS


def test_a_limit_of_the_whole_period_is_none(tmp_path: Path) -> None:
    files = LIMITED | thread(1) | {RUNTIME: "1000000\n"}

    assert judge(CHECK, tmp_path, files, OLD).state is State.PASS


def test_any_other_poller_does_not_care(tmp_path: Path) -> None:
    for policy in (0, 3, 6, "?"):
        finding = judge(CHECK, tmp_path, LIMITED | thread(policy), OLD)
        assert finding.state is State.NOT_APPLICABLE, policy


def test_a_poller_that_is_gone_does_not_care(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, LIMITED, OLD).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("options", "command_line", "state"),
    [
        ("# CONFIG_RT_GROUP_SCHED is not set\n", "quiet", State.NOT_APPLICABLE),
        ("CONFIG_RT_GROUP_SCHED=y\n", "quiet", State.FAIL),
        ("CONFIG_RT_GROUP_SCHED=y\n", "rt_group_sched=0", State.NOT_APPLICABLE),
        (f"CONFIG_RT_GROUP_SCHED=y\n{OFF}", "quiet", State.NOT_APPLICABLE),
        (f"CONFIG_RT_GROUP_SCHED=y\n{OFF}", "rt_group_sched=1", State.FAIL),
    ],
)
def test_since_the_fair_server_only_groups_are_limited(
    options: str, command_line: str, state: State, tmp_path: Path
) -> None:
    new = replace(OLD, machine=BARE_METAL)
    files = {
        "/proc/sys/kernel/osrelease": "6.12.0\n",
        "/boot/config-6.12.0": f"CONFIG_SMP=y\n{options}",
        "/proc/cmdline": f"{command_line}\n",
    }

    assert judge(CHECK, tmp_path, LIMITED | thread(1) | files, new).state is state


def test_without_build_options_nobody_knows_what_a_newer_kernel_limits(tmp_path: Path) -> None:
    new = replace(OLD, machine=BARE_METAL)

    finding = judge(CHECK, tmp_path, LIMITED | thread(1), new)

    assert finding.state is State.UNKNOWN
    assert "RT_GROUP_SCHED" in finding.needs


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    files = thread(1) | {RUNTIME: "much\n"}

    assert judge(CHECK, tmp_path, files, OLD).state is State.UNKNOWN


def test_a_kernel_without_the_limit_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, thread(1), OLD).state is State.NOT_APPLICABLE


def test_where_nothing_polls_it_is_not_asked(tmp_path: Path) -> None:
    housekeeping = replace(OLD, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, LIMITED | thread(1), housekeeping).state is State.NOT_APPLICABLE
