"""Who sent an interrupt: named where the events' own fields prove it, and nowhere else."""

import pytest

from made_trace import (
    CALL_SINGLE,
    CORE,
    HOG,
    IPI_MB,
    OTHER_CORE,
    RESCHEDULE,
    TELEMETRY,
    MadeTrace,
)
from taut.explain.read.senders import MOST_NS, join_senders


def senders(trace: MadeTrace) -> list[int | None]:
    """The thread that sent each interrupt, in the order of time; None: nobody is named."""
    events = trace.events()
    found = join_senders(events).of
    received = events.of("call_entry") | events.of("vector_entry") & (events.arg0 == RESCHEDULE)
    return [int(events.thread[at]) if at >= 0 else None for at in found[received].tolist()]


def rescheduled(at: int = 50_000) -> MadeTrace:
    return MadeTrace().vector(at, at + 1_000, RESCHEDULE)


def test_who_sent_a_reschedule_is_named():
    assert senders(rescheduled().send(49_000, TELEMETRY)) == [TELEMETRY]


def test_who_called_a_function_did_not_send_the_reschedule():
    trace = rescheduled().send(40_000, TELEMETRY).send(49_000, HOG, callback=CALL_SINGLE)

    assert senders(trace) == [TELEMETRY]
    assert senders(rescheduled().send(49_000, HOG, callback=CALL_SINGLE)) == [None]


def test_a_trace_that_does_not_say_what_a_sending_was_for_names_nobody():
    trace = rescheduled()
    trace.add(49_000, "ipi_send", CORE, 0xFF09, thread=TELEMETRY, cpu=OTHER_CORE)

    assert senders(trace) == [None]


def test_of_two_senders_either_may_have_raised_it():
    trace = rescheduled().send(47_000, HOG).send(49_000, TELEMETRY)

    assert senders(trace) == [None]
    assert senders(rescheduled().send(47_000, TELEMETRY).send(49_000, TELEMETRY)) == [TELEMETRY]


def test_idle_tasks_of_two_cores_are_two_senders():
    trace = rescheduled().send(47_000, 0, cpu=OTHER_CORE).send(49_000, 0, cpu=7)

    assert senders(trace) == [None]


def test_what_an_interrupt_before_has_delivered_sent_no_other():
    trace = rescheduled(20_000).send(19_000, HOG).vector(50_000, 51_000, RESCHEDULE)

    assert senders(trace) == [HOG, None]
    assert senders(trace.send(49_000, TELEMETRY)) == [HOG, TELEMETRY]


@pytest.mark.parametrize(("age_ns", "named"), [(MOST_NS, TELEMETRY), (MOST_NS + 1, None)])
def test_what_was_sent_long_ago_is_not_the_sender(age_ns: int, named: int | None):
    at = 2 * MOST_NS

    assert senders(rescheduled(at).send(at - age_ns, TELEMETRY)) == [named]


def test_what_was_sent_to_another_core_does_not_count():
    assert senders(rescheduled().send(49_000, TELEMETRY, target=5)) == [None]


def test_a_queueing_is_of_one_call():
    trace = MadeTrace().call(2_000, 3_000, IPI_MB, sent_at=1_000).call(5_000, 6_000, IPI_MB)

    assert senders(trace) == [TELEMETRY, None]


def test_a_call_of_another_function_was_not_queued_there():
    trace = MadeTrace().call(2_000, 3_000, IPI_MB)
    trace.add(1_000, "call_queue", 0xC0DE, 0xFF09, thread=TELEMETRY, cpu=OTHER_CORE)

    assert senders(trace) == [None]


def test_a_trace_without_interrupts_has_no_senders():
    assert senders(MadeTrace().send(1_000)) == []
    assert senders(MadeTrace().switch(1_000, HOG, 0)) == []
