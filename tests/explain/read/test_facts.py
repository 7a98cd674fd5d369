"""Counters of threads that share a core."""

from taut.explain.read.facts import Counted, Facts, together

AGREES, DIFFERS = Counted(100, 100), Counted(100, 3)


def test_a_counter_vouches_for_threads_together_if_it_agrees_for_each() -> None:
    first = Facts({"preemption": AGREES, "page-fault": AGREES, "timer": AGREES}, steal=4)
    second = Facts({"preemption": AGREES, "page-fault": DIFFERS}, steal=9)

    both = together([first, second])

    assert both.agreeing == {"preemption"}
    assert both.steal == 4
    assert together([first]) == first
