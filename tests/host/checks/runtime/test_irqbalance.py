from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied
from taut.host.boot.item import UnitState
from taut.host.check import State
from taut.host.checks.runtime.irqbalance import CHECK
from taut.host.host import Host
from taut.host.situation import Role

UNIT = "/commands/systemctl is-active irqbalance.service"
RUNS = {UNIT: "active\n"}
CONTAINER = replace(POLL, role=Role.CONTAINER)


def daemon(**environment: str) -> dict[str, str]:
    variables = "\0".join(f"{name}={value}" for name, value in environment.items())
    return {"/proc/812/comm": "irqbalance\n", "/proc/812/environ": f"HOME=/\0{variables}\0"}


def test_it_does_not_run(tmp_path: Path) -> None:
    files = {UNIT: "inactive\n", "/proc/1/comm": "systemd\n"}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_it_is_stopped_now_and_at_boot(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, RUNS)
    assert finding.state is State.FAIL
    assert "no core banned" in finding.observed

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["R01-now", "R01-boot", "R01-by-hand"]
        assert remedies[1].boot == (UnitState("irqbalance.service", False),)
        assert "IRQBALANCE_BANNED_CPULIST=2-3" in remedies[2].by_hand


def test_one_that_no_unit_started_is_found_and_left_to_the_user(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, daemon()).state is State.FAIL

    (remedy,) = CHECK.propose(Host(tmp_path), POLL)

    assert remedy.id == "R01-by-hand"


def test_banned_polling_cores_are_left_alone(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, daemon(IRQBALANCE_BANNED_CPULIST="1-3")).state is State.PASS


def test_a_ban_that_misses_a_core_fails_for_it(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, daemon(IRQBALANCE_BANNED_CPULIST="3"))

    assert finding.state is State.FAIL
    assert finding.cores == (2,)


def test_the_old_mask_takes_precedence(tmp_path: Path) -> None:
    variables = {"IRQBALANCE_BANNED_CPUS": "00000000,0000000c", "IRQBALANCE_BANNED_CPULIST": "0"}

    assert judge(CHECK, tmp_path, daemon(**variables)).state is State.PASS


def test_what_it_was_started_with_counts_not_what_is_configured_since(tmp_path: Path) -> None:
    files = {"/etc/default/irqbalance": 'IRQBALANCE_BANNED_CPULIST="2-3"\n'}

    assert judge(CHECK, tmp_path, RUNS | files).state is State.PASS
    assert judge(CHECK, tmp_path, RUNS | daemon() | files).state is State.FAIL


def test_a_commented_ban_is_none(tmp_path: Path) -> None:
    files = {"/etc/sysconfig/irqbalance": "#IRQBALANCE_BANNED_CPULIST=2-3\n"}

    assert judge(CHECK, tmp_path, RUNS | files).state is State.FAIL


def test_it_leaves_isolated_cores_alone_by_itself(tmp_path: Path) -> None:
    files = {
        "/sys/devices/system/cpu/isolated": "2\n",
        "/sys/devices/system/cpu/nohz_full": "3\n",
    }

    assert judge(CHECK, tmp_path, daemon() | files).state is State.PASS


def test_a_ban_list_that_is_none_is_unknown(tmp_path: Path) -> None:
    for text in ("two", "3-2", "0-99999999999"):
        finding = judge(CHECK, tmp_path, daemon(IRQBALANCE_BANNED_CPULIST=text))
        assert finding.state is State.UNKNOWN, text


def test_a_container_cannot_see_the_hosts(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, CONTAINER).state is State.UNKNOWN

    assert judge(CHECK, tmp_path, daemon(), CONTAINER).state is State.FAIL
    assert "on the host" in CHECK.propose(Host(tmp_path), CONTAINER)[0].by_hand


def test_with_no_polling_core_named_a_ban_is_not_judged(tmp_path: Path) -> None:
    nobody = replace(POLL, cores=())

    assert judge(CHECK, tmp_path, daemon(), nobody).state is State.FAIL
    files = daemon(IRQBALANCE_BANNED_CPULIST="2-3")
    assert judge(CHECK, tmp_path, files, nobody).state is State.UNKNOWN


def test_housekeeping_may_balance(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING)

    assert judge(CHECK, tmp_path, RUNS, housekeeping).state is State.NOT_APPLICABLE
