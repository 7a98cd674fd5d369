"""The numbers of causes in injections.bin: files of earlier runs have them, so none may change."""

from collections.abc import Callable
from typing import Any

NUMBERS = {
    "tlb-shootdown": 0,
    "membarrier": 1,
    "function-call": 2,
    "reschedule": 3,
    "timer": 4,
    "softirq": 5,
    "page-fault": 6,
    "syscall": 7,
    "fifo-preemption": 8,
    "preemption": 9,
    "stopped": 10,
    "throttled": 11,
    "vcpu-hog": 12,
    "measurer-stall": 13,
}


def test_no_cause_changes_its_number(answer: Callable[..., Any]) -> None:
    described = answer("taut-inject", "--describe")["causes"]

    assert {cause["name"]: cause["number"] for cause in described} == NUMBERS
