"""What --trace tail keeps of a trace says of late packets what all of it says."""

import numpy as np
import pytest

from made_trace import (
    HOG,
    POLLER,
    PREEMPTED,
    MadeTrace,
    held,
    normal,
    write_trial,
)
from taut.explain import Options, explain_trial
from taut.explain.read.gaps import Explainable

MS = 1_000_000


def busy(n_ms, seed):
    """A tick in each millisecond, now and then a hog or nothing: packets, gaps, kernel events."""
    rng = np.random.default_rng(seed)
    rows, gaps, trace = normal(100 * n_ms), [], MadeTrace()
    for t in range(MS // 2, n_ms * MS, MS):
        kind = rng.choice(["tick", "tick", "tick", "tick", "hog", "stolen"])
        start, end = t, t + {"tick": 2_000, "hog": 60_000, "stolen": 40_000}[kind]
        if kind == "tick":
            trace.vector(start + 500, end - 500)
        elif kind == "hog":
            trace.switch(start + 500, POLLER, HOG, PREEMPTED).switch(end - 500, HOG, POLLER)
        rows = held(rows, start, end)
        gaps.append((start, end, "forwarder"))
    return rows, gaps, trace


def only_around(trace, rows, over_ns, margin_ns):
    """What --trace tail leaves of a trace."""
    late = [r for r in rows if r["received_ns"] - r["sent_ns"] > over_ns]
    kept = MadeTrace()
    until = 0
    for row in late:
        start, end = row["sent_ns"] - margin_ns, row["received_ns"] + margin_ns
        if start > until:
            kept.add(until, "skipped", 1, start)
        kept.rows += [e for e in trace.rows if max(start, until) <= e[0] <= end]
        until = max(until, end)
    return kept.add(until, "skipped", 1, 10**9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_tail_trace_says_of_late_packets_what_the_whole_one_says(tmp_path, seed, monkeypatch):
    rows, gaps, trace = busy(60, seed)
    rest = only_around(trace, rows, 15_000, 100_000)
    options = Options(over="20us", n_worst=2)

    whole = explain_trial(write_trial(tmp_path / "whole", rows, gaps, trace), options)
    trial = write_trial(tmp_path / "tail", rows, gaps, rest, mode="tail")
    tail = explain_trial(trial, options)
    monkeypatch.setattr(Explainable, "mark", lambda self, start, end: np.ones(len(start), bool))
    every_gap = explain_trial(trial, options)

    assert len(rest.rows) < len(trace.rows)
    assert {total.cause for total in whole.causes} == {"preemption", "hypervisor-or-hardware"}
    told = ["seq", "cause", "grade", "relation", "excess_ns", "episode"]
    assert tail.packets.select(told) == whole.packets.select(told) == every_gap.packets.select(told)
    assert tail.gap_totals == every_gap.gap_totals
    assert tail.gaps.num_rows < every_gap.gaps.num_rows == len(gaps)
