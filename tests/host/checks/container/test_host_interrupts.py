from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.container.host_interrupts import CHECK
from taut.host.host import Host
from taut.host.situation import Role

CONTAINER = replace(POLL, role=Role.CONTAINER)
AT = "/proc/irq/24/effective_affinity_list"
NAMED = {"/sys/kernel/irq/24/actions": "eth0-rx\n"}


def test_interrupts_elsewhere_pass(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NAMED | {AT: "0\n"}, CONTAINER).state is State.PASS


def test_one_on_our_core_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, NAMED | {AT: "3\n"}, CONTAINER)

    assert finding.state is State.FAIL
    assert "IRQ 24 on core 3" in finding.observed
    assert finding.cores == (3,)
    (remedy,) = CHECK.propose(Host(tmp_path), CONTAINER)
    assert "irq-load-balancing.crio.io" in remedy.by_hand


def test_cores_nobody_named_are_those_we_may_run_on(tmp_path: Path) -> None:
    files = NAMED | {AT: "1\n", "/proc/self/status": "Cpus_allowed_list:\t1-2\n"}

    finding = judge(CHECK, tmp_path, files, replace(CONTAINER, cores=()))

    assert finding.state is State.FAIL
    assert finding.cores == (1,)


def test_an_interrupt_without_an_action_does_not_count(tmp_path: Path) -> None:
    files = {AT: "3\n", "/sys/kernel/irq/24/actions": "\n"}

    assert judge(CHECK, tmp_path, files, CONTAINER).state is State.PASS


def test_hidden_or_malformed_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path / "a", {}, CONTAINER).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "b", NAMED | {AT: "x\n"}, CONTAINER).state is State.UNKNOWN


def test_other_roles_are_not_asked(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NAMED | {AT: "3\n"}, POLL).state is State.NOT_APPLICABLE
