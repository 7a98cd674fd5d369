from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.tsc_watchdog import CHECK

PATH = "/proc/cmdline"
PACKAGE = "/sys/devices/system/cpu/cpu{core}/topology/physical_package_id"
NODES = "/sys/devices/system/node/online"
ADJUSTED = replace(BARE_METAL, flags=BARE_METAL.flags | {"tsc_adjust"})


@pytest.mark.parametrize("value", ["nowatchdog", "reliable"])
def test_the_parameter_passes(value: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: f"tsc={value}\n"}).state is State.PASS


def test_without_it_a_kernel_that_distrusts_the_tsc_fails(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {PATH: "quiet\n"}).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert str(remedy.boot[0]) == "tsc=nowatchdog"
    assert "reliable" in remedy.measure


@pytest.mark.parametrize(
    ("kernel", "packages", "nodes", "state"),
    [
        ((6, 12), 4, 16, State.PASS),
        ((6, 12), 8, 8, State.FAIL),
        # Until 6.10 kernels counted nodes, of which a package may have several.
        ((6, 9), 2, 8, State.FAIL),
        ((6, 9), 2, 4, State.PASS),
        ((5, 17), 2, 2, State.PASS),
        ((6, 1), 1, 4, State.FAIL),
        ((6, 1), 4, 4, State.FAIL),
        ((5, 10), 1, 1, State.FAIL),
    ],
)
def test_newer_kernels_trust_a_good_tsc_on_few_packages_or_nodes(
    kernel: tuple[int, int], packages: int, nodes: int, state: State, tmp_path: Path
) -> None:
    situation = replace(POLL, machine=replace(ADJUSTED, kernel=kernel))
    files = {PACKAGE.format(core=core): f"{core}\n" for core in range(packages)}
    files[NODES] = f"0-{nodes - 1}\n"

    assert judge(CHECK, tmp_path, files | {PATH: "quiet\n"}, situation).state is state


def test_a_watchdog_that_barked_fails_whatever_was_asked_for(tmp_path: Path) -> None:
    said = "[0.0] Linux version 6\n[9.1] clocksource: timekeeping watchdog on CPU2: Marking ...\n"

    finding = judge(CHECK, tmp_path, {PATH: "tsc=reliable\n", "/commands/dmesg": said})

    assert finding.state is State.FAIL
    assert "CPU2" in finding.observed


def test_a_tsc_that_is_not_steady_is_never_trusted_by_us(tmp_path: Path) -> None:
    shaky = replace(POLL, machine=replace(BARE_METAL, flags=frozenset({"constant_tsc"})))

    assert not CHECK.propose(tree(tmp_path, {}), shaky)


def test_other_processors_have_no_tsc(tmp_path: Path) -> None:
    arm = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))

    assert judge(CHECK, tmp_path, {PATH: "quiet\n"}, arm).state is State.NOT_APPLICABLE


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN
