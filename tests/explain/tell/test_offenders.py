import pytest

from made_trace import FLUSH, MadeTrace, held, normal, paused, write_trial
from taut.explain import Options, as_document, explain_trial
from taut.explain.tell.offenders import together, who_of
from taut.records.documents.explanation import Offender

MS = 1_000_000


def shootdown(tmp_path):
    start, end = 10 * MS + 15, 10 * MS + 42_000
    trace = MadeTrace().call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
    trace.add(start + 3_000, "tlb_flush", 1, 8)
    rows = held(normal(3_000), start, end)
    trial = write_trial(tmp_path, rows, [(start, end, "forwarder")], trace)
    return explain_trial(trial, Options(over="9us")), end - start


def test_a_call_is_named_with_its_sender_and_counts_its_packets_once(tmp_path):
    found, length_ns = shootdown(tmp_path)

    [one] = found.offenders

    assert (one.role, one.cause, one.who) == ("device", "tlb-shootdown", 'by "telemetry" on cpu0')
    assert (one.n_stalls, one.n_guesses, one.taken_ns) == (1, 0, length_ns)
    assert one.n_packets == found.n_tail == 4
    assert one.worst_ns == found.worst[0].worst_excess_ns


def test_the_generators_own_core_stands_apart(tmp_path):
    start, end = 10 * MS + 500, 15 * MS
    rows = paused(normal(3_000), start, end)
    trial = write_trial(tmp_path, rows, [(start, end, "generator")], MadeTrace().vector(1, 2))

    [one] = explain_trial(trial, Options(over="20us")).offenders

    assert (one.role, one.cause, one.n_packets) == ("generator", "hypervisor-or-hardware", 1)
    assert one.taken_ns == end - start


def test_packets_that_waited_in_a_queue_are_blamed_on_no_core(tmp_path):
    rows = normal(3_000)
    for row in rows[1_000:2_000]:
        row["received_ns"] += (row["seq"] - 999) * 2_000

    found = explain_trial(write_trial(tmp_path, rows, trace=MadeTrace().vector(1, 2)))

    [one] = [one for one in found.offenders if one.n_packets]
    assert (one.role, one.core, one.cause, one.taken_ns) == ("none", None, "queueing", 0)
    assert one.n_packets == found.n_tail


def test_the_document_has_them_with_their_remedies(tmp_path):
    found, _ = shootdown(tmp_path)

    [document] = as_document(found).offenders

    assert document.predicted.checks[0].check == "A05"
    assert vars(found.offenders[0]).items() <= vars(document).items()


def test_trials_add_up_and_the_worst_is_the_worst_of_all():
    a = Offender("device", 1, "preemption", '"cc1"', 2, 1, 100, 5, 40)
    b = Offender("device", 1, "preemption", '"cc1"', 1, 0, 30, 2, 70)
    other = Offender("generator", 0, "preemption", '"cc1"', 9, 0, 900, 1, 10)

    assert together([a, other, b]) == (
        Offender("device", 1, "preemption", '"cc1"', 3, 1, 130, 7, 70),
        other,
    )


@pytest.mark.parametrize(
    ("detail", "who"),
    [
        ('"mypy"/26265', '"mypy"'),
        ('8 pages by "telemetry"/4711 on cpu0', 'by "telemetry" on cpu0'),
        ("at 0x7f00", ""),
        ("irq 27 virtio0-input.0", "irq 27 virtio0-input.0"),
        ("NET_RX, 64 packets of others", "NET_RX"),
        ('vmstat_update in "kworker/0:2"/7639', 'vmstat_update in "kworker/0:2"'),
    ],
)
def test_what_differs_from_visit_to_visit_is_left_out(detail, who):
    assert who_of(detail) == who
