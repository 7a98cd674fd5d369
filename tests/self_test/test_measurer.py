"""What counts as a stop of the generator that explain has right; nothing runs here."""

import numpy as np
import pyarrow as pa
import pytest

from made_trace import CORE, MadeTrace, gap_rows, notes, stop
from taut.explain import causes, explain_gaps
from taut.records.layout import PacketFlag
from taut.self_test.acts import Acts, held_of
from taut.self_test.confusion import Confusion, confuse_as
from taut.self_test.measurer import _as_measurers

MS = 1_000_000
STOP = (10 * MS, 12 * MS)


def packets(void: bool, *due_ms: float) -> pa.Table:
    due = np.array([t * MS for t in due_ms], np.int64)
    flags = np.full(len(due), PacketFlag.VOID if void else 0, np.uint16)
    return pa.table({"due_ns": due, "flags": flags})


def judged(trace: MadeTrace, sent: pa.Table) -> Confusion:
    gaps = gap_rows((*STOP, "generator"), (30 * MS, 31 * MS, "generator"))
    found = explain_gaps(gaps, trace.events(), CORE, notes(), log="generator")
    held = held_of(found.source.verdicts[0], causes.STOPPED, frozenset())
    acts = Acts(np.array([STOP[0]]), np.array([STOP[1]]), np.array([1]))
    verdicts = _as_measurers(found, held, sent)
    return confuse_as("measurer-stall", causes.MEASURER, acts, verdicts, held, 2_000)


def test_a_stop_whose_packets_are_void_is_the_measurers() -> None:
    found = judged(stop(*STOP), packets(True, 10.5, 11.0, 11.5))

    assert (found.n_right, found.n_said, found.recall) == (1, 1, 1.0)


def test_packets_around_it_may_count() -> None:
    found = judged(stop(*STOP), packets(False, 9.99, 10.05, 11.95, 12.01))

    assert found.n_right == 1


@pytest.mark.parametrize("due_ms", [10.5, 11.8])
def test_a_packet_that_was_due_in_it_and_counts_makes_it_wrong(due_ms: float) -> None:
    found = judged(stop(*STOP), packets(False, due_ms))

    assert (found.n_right, dict(found.beside)) == (0, {"unknown": 1})


def test_a_stop_that_was_not_seen_is_missed() -> None:
    found = judged(MadeTrace().vector(1, 2), packets(True, 11.0))

    assert (found.n_right, found.found) == (0, 0.0)
    assert list(found.why_missed) == ["the gap held no event at all"]
