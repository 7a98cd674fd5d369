from pathlib import Path

import pytest

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.isolation_lists import CHECK

MACHINE = {
    "/sys/devices/system/cpu/possible": "0-3\n",
    "/sys/devices/system/cpu/nohz_full": "2-3\n",
}
BOOTED = "[0.0] Linux version 6.12\n"


def machine(line: str, said: str = "") -> dict[str, str]:
    """A machine booted with a line, and what its kernel said."""
    return MACHINE | {"/proc/cmdline": f"{line}\n", "/commands/dmesg": f"{BOOTED}{said}"}


@pytest.mark.parametrize(
    "line",
    [
        "nohz_full=2-3 isolcpus=domain,managed_irq,2-3",
        "nohz_full=2-N isolcpus=nohz,domain,2,3",
        "nohz_full=2-3 isolcpus=managed_irq,1-3",
    ],
)
def test_lists_the_kernel_takes_pass(line: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine(line)).state is State.PASS


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("nohz_full=2-3 isolcpus=nohz,3", "differ"),
        ("nohz_full=2-3 isolcpus=0-1", "no core is left"),
        ("nohz_full=1-3", "not in force on core 1"),
        ("nohz_full=2-x", "not a list"),
    ],
)
def test_lists_the_kernel_drops_fail(line: str, word: str, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, machine(line))

    assert finding.state is State.FAIL
    assert word in finding.observed
    assert [remedy.id for remedy in CHECK.propose(tree(tmp_path, {}), POLL)] == ["K07-by-hand"]


def test_what_the_kernel_said_counts(tmp_path: Path) -> None:
    said = "[0.1] Housekeeping: must include one present CPU, using boot CPU:0\n"

    finding = judge(CHECK, tmp_path, machine("nohz_full=2-3", said))

    assert finding.state is State.FAIL
    assert "must include one present CPU" in finding.observed


def test_neither_list_leaves_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, machine("quiet")).state is State.NOT_APPLICABLE


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, MACHINE).state is State.UNKNOWN
