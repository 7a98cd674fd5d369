import numpy as np

from made_trace import (
    CORE,
    MadeTrace,
)
from taut.explain.read.spans import lost_spans, overlaps


def test_lost_spans_that_overlap_are_one():
    trace = MadeTrace()
    for t, until in ((0, 50), (10, 20), (40, 60), (100, 110)):
        trace.add(t, "lost", 1, until)

    start, end = lost_spans(trace.events(), CORE)

    assert (start.tolist(), end.tolist()) == ([0, 100], [60, 110])
    marked = overlaps(np.array([55, 61, 110]), np.array([58, 99, 120]), start, end)
    assert marked.tolist() == [True, False, True]
