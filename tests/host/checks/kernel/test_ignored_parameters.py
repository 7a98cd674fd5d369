from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.ignored_parameters import CHECK
from taut.host.situation import Role

KERNEL = {"/proc/sys/kernel/osrelease": "6.12.0\n"}
TELLS = (
    "[    0.1] Kernel command line: {line}\n"
    '[    0.2] Unknown kernel command line parameters "{odd}", will be passed to user space.\n'
)


def booted(line: str, odd: str | None = None) -> dict[str, str]:
    """A machine and, where `odd` is given, the log of its boot."""
    files = KERNEL | {"/proc/cmdline": f"{line}\n"}
    return files if odd is None else files | {"/commands/dmesg": TELLS.format(line=line, odd=odd)}


def test_what_only_the_boot_loader_reads_is_fine(tmp_path: Path) -> None:
    files = booted("BOOT_IMAGE=/vmlinuz quiet", "BOOT_IMAGE=/vmlinuz")

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_a_misspelt_parameter_fails_and_the_right_spelling_is_named(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, booted("quiet nosoftlookup", "nosoftlookup"))

    assert finding.state is State.FAIL
    assert "nosoftlookup" in finding.observed
    (remedy,) = CHECK.propose(tree(tmp_path, {}), POLL)
    assert remedy.id == "K01-by-hand"
    assert "nosoftlockup" in remedy.by_hand


def test_names_with_a_dot_are_found_although_the_kernel_keeps_quiet(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, booted("processor_idle.max_cstate=1", "BOOT_IMAGE=x"))

    assert finding.state is State.FAIL


def test_without_the_boot_log_a_name_nobody_knows_is_unknown(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, booted("zebrafish_quota=1"))

    assert finding.state is State.UNKNOWN
    assert "dmesg" in finding.needs


def test_without_the_boot_log_known_names_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, booted("quiet nosmt")).state is State.PASS


def test_without_a_command_line_nothing_is_known(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_a_container_sends_the_remedy_to_its_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)

    (remedy,) = CHECK.propose(tree(tmp_path, booted("nosoftlookup")), container)

    assert remedy.by_hand.startswith("on the host")
