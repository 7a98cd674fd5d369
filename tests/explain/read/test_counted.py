"""Whether a counter agrees in number with the events that were recorded."""

import pytest

from made_trace import CORE, FLUSH, OTHER_CORE, POLLER, PREEMPTED, SLEEPS, MadeTrace, notes
from taut.explain.read.counted import agrees, is_whole, n_recorded
from taut.explain.read.facts import Counted, facts_of


@pytest.mark.parametrize(
    ("recorded", "counted", "is_agreed"),
    [
        (1, 1, True),
        (1, 2, False),
        (2, 1, False),
        (0, 0, False),
        (0, 1, False),
        (9, 10, True),
        (8, 10, False),
        (460, 464, True),
        (460, 480, False),
        (9_900, 10_000, True),
        (9_000, 10_000, False),
    ],
)
def test_up_to_nine_it_is_the_same_number_then_about_one_in_a_hundred(recorded, counted, is_agreed):
    assert agrees(recorded, counted) == is_agreed


def moved(**rows):
    """Counters of trace.json that moved by these numbers."""
    before = {group: {row: {str(CORE): 7} for row in of} for group, of in rows.items()}
    after = {
        group: {row: {str(CORE): 7 + n} for row, n in of.items()} for group, of in rows.items()
    }
    return notes(counters={"before": before, "after": after})


def facts(trace, made):
    return facts_of(trace.events(), made, CORE, POLLER, is_guest=True, is_traced=True)


def test_one_tick_that_was_counted_does_not_vouch_for_all_that_were_recorded():
    trace = MadeTrace()
    for t in range(0, 50_000, 1_000):
        trace.vector(t, t + 100)

    assert facts(trace, moved(interrupts={"LOC": 1})).agreeing == set()
    found = facts(trace, moved(interrupts={"LOC": 50}))
    assert found.counted["timer"] == Counted(recorded=50, counted=50)
    assert found.agreeing == {"timer"}


def test_interrupts_of_all_devices_are_counted_together():
    trace = MadeTrace()
    for t, irq in enumerate((24, 25, 25)):
        trace.add(t, "irq_entry", irq)

    assert facts(trace, moved(interrupts={"24": 1, "25": 2, "LOC": 40})).agreeing == {"device-irq"}


def test_where_not_every_event_was_kept_numbers_say_nothing():
    trace = MadeTrace().vector(100, 200)
    made = moved(interrupts={"LOC": 1})
    assert facts(trace, made).agreeing == {"timer"}

    trace.add(300, "skipped", 5, 900, cpu=OTHER_CORE)

    assert not is_whole(trace.events())
    assert facts(trace, made).counted == {}


def test_a_thread_that_goes_to_sleep_was_not_preempted():
    trace = MadeTrace().switch(100, POLLER, 0, SLEEPS).switch(200, 0, POLLER)
    trace.switch(300, POLLER, 0, PREEMPTED)

    def n(counter):
        return n_recorded(trace.events(), counter, CORE, POLLER, notes())

    assert (n("threads:nonvoluntary"), n("threads:voluntary")) == (1, 1)


def test_without_csd_events_shootdowns_are_counted_by_their_flush():
    trace = MadeTrace().vector(100, 900, 2).add(200, "tlb_flush", 1, 8).add(300, "tlb_flush", 0, 8)
    trace.call(2_000, 3_000, FLUSH).call(4_000, 5_000, FLUSH)
    lacking = notes(missing=[{"event": "csd/csd_queue_cpu", "costs": "senders"}])

    def n(made):
        return n_recorded(trace.events(), "interrupts:TLB", CORE, POLLER, made)

    assert (n(notes()), n(lacking)) == (2, 1)


def test_a_non_maskable_interrupt_counts_once_however_many_handlers_it_ran():
    trace = MadeTrace()
    for t in range(0, 10_000, 1_000):
        trace.add(t + 300, "nmi", 1, 200).add(t + 500, "nmi", 2, 100)

    assert facts(trace, moved(interrupts={"NMI": 10})).agreeing == {"nmi"}


def test_a_counter_that_was_not_read_is_not_compared():
    assert facts(MadeTrace().vector(100, 200), notes()).counted == {}
