from dataclasses import replace
from pathlib import Path

from host_pollers import PROGRAM, SITUATION
from host_tree import BARE_METAL, judge
from taut.host.check import State
from taut.host.checks.application.wide_vectors import CHECK
from taut.host.machine import Machine
from taut.host.situation import Situation


def on(machine: Machine) -> Situation:
    return replace(SITUATION, machine=machine)


SKYLAKE = replace(BARE_METAL, model=85, flags=frozenset({"avx512f"}))
STATUS = "/proc/500/arch_status"


def test_use_on_an_old_processor_fails(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, PROGRAM | {STATUS: "AVX512_elapsed_ms:\t8\n"}, on(SKYLAKE))

    assert finding.state is State.FAIL
    assert "rte-worker-2 (500) used it 8 ms ago" in finding.observed


def test_no_use_there_is_good(tmp_path: Path) -> None:
    files = PROGRAM | {STATUS: "AVX512_elapsed_ms:\t-1\n"}

    assert judge(CHECK, tmp_path, files, on(SKYLAKE)).state is State.PASS


def test_later_processors_do_not_mind(tmp_path: Path) -> None:
    files = PROGRAM | {STATUS: "AVX512_elapsed_ms:\t8\n"}
    ice_lake = replace(SKYLAKE, model=106)
    amd = replace(SKYLAKE, vendor="amd", family=25)

    assert judge(CHECK, tmp_path, files, on(ice_lake)).state is State.PASS
    assert judge(CHECK, tmp_path, files, on(amd)).state is State.PASS


def test_processors_without_it_have_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.NOT_APPLICABLE


def test_where_the_kernel_does_not_tell_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, on(SKYLAKE)).state is State.UNKNOWN
    odd = PROGRAM | {STATUS: "AVX512_elapsed_ms:\tlong\n"}
    assert judge(CHECK, tmp_path, odd, on(SKYLAKE)).state is State.UNKNOWN
