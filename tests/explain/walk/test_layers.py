"""Who had a core, as layers: what one look at all events gives."""

from made_trace import CORE, OTHER_CORE, MadeTrace, notes
from taut.explain.read.names import Names
from taut.explain.walk.layers import layers_of


def test_a_non_maskable_interrupt_has_all_its_handlers_and_is_told_by_the_longest():
    trace = MadeTrace().add(5_000, "nmi", 1, 100).add(5_900, "nmi", 2, 700)
    trace.add(8_000, "nmi", 1, 300).add(9_000, "nmi", 3, 400, cpu=OTHER_CORE)
    events = trace.events()

    found = layers_of(events, CORE, Names(notes())).nmi

    assert found.start_ns.tolist() == [4_900, 7_700]
    assert found.end_ns.tolist() == [5_900, 8_000]
    assert events.arg0[found.row].tolist() == [2, 1]
    assert len(layers_of(events, 7, Names(notes())).nmi) == 0
