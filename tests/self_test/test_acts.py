"""Whose a disturbance was that was seen in a gap; nothing runs here."""

import pytest

from made_trace import CORE, TELEMETRY, MadeTrace, gap_rows, notes
from taut.explain import causes, explain_gaps
from taut.records.layout import SentBy
from taut.self_test.acts import held_of, is_found


@pytest.mark.parametrize(
    ("sender", "is_ours"),
    [(TELEMETRY, True), (77, False), (SentBy.INTERRUPT % (1 << 32), False)],
    ids=["the injector", "a thread", "an interrupt"],
)
def test_a_call_that_is_proved_to_be_anothers_is_no_act(sender: int, is_ours: bool) -> None:
    trace = MadeTrace().call(1_000, 8_000, 0xABC, sent_at=500, sender=sender)
    found = explain_gaps(gap_rows((0, 9_000, "noise")), trace.events(), CORE, notes())

    held = held_of(found.source.verdicts[0], causes.FUNCTION_CALL, frozenset({TELEMETRY}))

    assert is_found(held, 0) == is_ours
    assert (bool(held.is_ours[0]), bool(held.is_others[0])) == (is_ours, not is_ours)
