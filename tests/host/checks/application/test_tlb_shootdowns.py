from dataclasses import replace
from pathlib import Path

from host_pollers import PROGRAM, SITUATION, watched
from host_tree import BARE_METAL, POLL, judge
from taut.host.check import State
from taut.host.checks.application.tlb_shootdowns import CHECK
from taut.host.situation import TraceEvent


def interrupts(*counts: int) -> dict[str, str]:
    row = "  ".join(map(str, counts))
    text = f"        CPU0  CPU1  CPU2  CPU3\n 1: 9 9 9 9 x\nTLB: {row}  TLB shootdowns\nERR: 0\n"
    return {"/proc/interrupts": text}


def test_none_on_the_cores_that_poll_is_good(tmp_path: Path) -> None:
    finding = judge(
        CHECK, tmp_path, PROGRAM, watched(interrupts(1, 2, 3, 4), interrupts(9, 9, 3, 4))
    )

    assert (finding.state, finding.cores) == (State.PASS, (2, 3))


def test_one_there_fails(tmp_path: Path) -> None:
    situation = watched(interrupts(1, 2, 3, 4), interrupts(1, 2, 3, 9))
    event = TraceEvent(3, "x", 1, "csd_function_entry", "func=flush_tlb_func, csd=0")

    finding = judge(CHECK, tmp_path, PROGRAM, replace(situation, events=[event]))

    assert (finding.state, finding.cores) == (State.FAIL, (3,))
    assert finding.observed == "5 on core 3 in 5 s; 1 traced"


def test_unwatched_it_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.UNKNOWN


def test_without_that_row_arm_needs_none_and_others_are_unknown(tmp_path: Path) -> None:
    rows = {"/proc/interrupts": "CPU0 CPU1\n 1: x\nTLB\n"}
    situation = watched(rows, rows)
    arm = replace(situation, machine=replace(BARE_METAL, vendor="arm"))

    assert judge(CHECK, tmp_path, PROGRAM, situation).state is State.UNKNOWN
    assert judge(CHECK, tmp_path, PROGRAM, arm).state is State.NOT_APPLICABLE


def test_a_machine_without_a_program_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
