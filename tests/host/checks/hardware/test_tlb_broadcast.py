from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import BARE_METAL, POLL, judge
from taut.host.check import State
from taut.host.checks.hardware.tlb_broadcast import CHECK
from taut.host.machine import Machine

ZEN_3 = replace(BARE_METAL, vendor="amd", family=0x19, kernel=(6, 18))


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (BARE_METAL, "interrupt the other cores"),
        (replace(BARE_METAL, hypervisor="KVM"), "preempted vCPU"),
        (replace(BARE_METAL, vendor="arm"), "without interrupts"),
        (replace(ZEN_3, flags=frozenset({"invlpgb"})), "need no interrupts"),
        (replace(ZEN_3, kernel=(6, 12)), "interrupt the other cores"),
        (replace(ZEN_3, family=0x17), "interrupt the other cores"),
    ],
)
def test_it_says_what_a_flush_does(machine: Machine, words: str, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, replace(POLL, machine=machine))

    assert finding.state is State.PASS
    assert words in finding.observed


def test_new_kernels_use_amds_flush_without_naming_it(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {}, replace(POLL, machine=ZEN_3))

    assert finding.state is State.UNKNOWN
    assert "cpuid" in finding.needs


def test_an_unknown_processor_is_unknown(tmp_path: Path) -> None:
    odd = replace(POLL, machine=replace(BARE_METAL, vendor="other"))

    assert judge(CHECK, tmp_path, {}, odd).state is State.UNKNOWN
