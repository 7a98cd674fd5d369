"""Threads by name: what is to blame where one of them ran."""

import pytest

from taut.explain import causes
from taut.explain.read.names import running_cause

NICE_0 = 120


@pytest.mark.parametrize(
    ("comm", "cause"),
    [
        ("kworker/2:1", causes.WORKQUEUE),
        ("cc1", causes.PREEMPTION),
        ("kworker/2:1 or kworker/3:0", causes.WORKQUEUE),
        ("kworker/2:1 or cc1", causes.PREEMPTION),
        ("cc1 or kworker/2:1", causes.PREEMPTION),
    ],
)
def test_a_number_that_was_another_threads_is_a_kind_of_thread_only_if_both_were(comm, cause):
    assert running_cause(comm, NICE_0) is cause
