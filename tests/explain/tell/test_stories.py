"""What an episode's line says of gaps, and of their absence."""

from made_trace import MadeTrace, held, normal, write_trial
from taut.explain import Options, explain_trial

MS = 1_000_000
QUIET = MadeTrace().vector(1, 2)


def late(excess_ns):
    """Rows with one late packet, and when that was sent and back."""
    rows = normal(3_000)
    rows[1_000]["received_ns"] += excess_ns
    return rows, rows[1_000]["sent_ns"], rows[1_000]["received_ns"]


def line_of(trial):
    [story] = explain_trial(trial, Options(over="20us")).worst
    return story.line


def test_a_gap_that_covers_it_is_not_only_a_part_of_it(tmp_path):
    gap = (10 * MS + 5_000, 14 * MS + 55_000)

    line = line_of(write_trial(tmp_path, held(normal(3_000), *gap), [(*gap, "forwarder")]))

    assert line.endswith("late: core 1 did not poll for 4.05 ms, and nothing recorded says why.")


def test_a_gap_that_covers_less_than_half_is_said_to(tmp_path):
    rows, sent, _ = late(100_000)
    gap = (sent + 5_000, sent + 45_000, "forwarder", 9)

    line = line_of(write_trial(tmp_path, rows, [gap], QUIET))

    assert line.endswith(
        "late: nothing recorded says why; gaps cover only 40 µs; "
        "missing: gaps that cover half of it."
    )


def test_beside_a_gap_that_ended_after_it_was_back_the_logs_are_not_said_to_have_none(tmp_path):
    rows, sent, back = late(50_000)
    trial = write_trial(tmp_path, rows, [(sent + 2_000, back + 10_000, "forwarder", 9)], QUIET)

    assert explain_trial(trial, Options(over="20us")).vetoed.packets == 1
    assert "nothing recorded says why; missing: a gap that explains it" in line_of(trial)


def test_nor_is_the_log_of_a_floors_generator_beside_a_gap_of_its_own(tmp_path):
    rows, sent, _ = late(50_000)
    meta = {"dut": {"driver": "loopback"}}
    gap = (sent + 2_000, sent + 8_000, "generator")

    line = line_of(write_trial(tmp_path, rows, [gap], QUIET, meta=meta))

    assert line.endswith("gaps cover only 6 µs; missing: gaps that cover half of it.")


def test_before_its_restart_a_devices_log_is_not_said_to_have_none(tmp_path):
    rows = held(normal(3_000), 10 * MS + 5_000, 15 * MS + 5_000)
    rows[2_500]["received_ns"] += 50_000
    stats = {"gaps": {"per_packet_ns": 250}}
    dut = {"driver": "taut_forward", "options": {}, "stats": stats, "logged_from_ns": 20 * MS}

    trial = write_trial(tmp_path, rows, [], QUIET, meta={"dut": dut})
    found = explain_trial(trial, Options(over="20us"))
    before, after = sorted(found.worst, key=lambda story: story.start_ns)

    assert {total.cause for total in found.causes} == {"unknown"}
    assert "missing: the device's log of gaps: it was restarted" in before.line
    assert after.line.endswith(
        "missing: a gap: none in the logs touches its way; it was the device, the path, or what "
        "the logs grant as work."
    )
    assert any("begins 20 ms after the first packet was due" in note for note in found.notes)


def test_after_a_devices_log_was_full_it_is_not_said_to_have_none(tmp_path):
    logged = (5 * MS + 5_000, 8 * MS + 5_000)
    rows = held(held(normal(3_000), *logged), 10 * MS + 5_000, 15 * MS + 5_000)
    stats = {"gaps": {"per_packet_ns": 250, "not_logged": 3}}
    meta = {"dut": {"driver": "taut_forward", "options": {}, "stats": stats}}
    trial = write_trial(tmp_path, rows, [(*logged, "forwarder")], QUIET, meta=meta)

    found = explain_trial(trial, Options(over="20us"))
    told, after = sorted(found.worst, key=lambda story: story.start_ns)

    assert told.gap is not None
    assert after.cause == "unknown"
    assert "missing: the rest of the device's log of gaps" in after.line


def test_nor_is_a_generator_whose_log_was_full(tmp_path):
    rows, sent, _ = late(50_000)
    full = {"counters": {}, "gaps": {"not_logged": 1}}
    meta = {"dut": {"driver": "loopback"}, "generator": full}
    gap = (sent - 900_000, sent - 800_000, "generator")

    line = line_of(write_trial(tmp_path, rows, [gap], QUIET, meta=meta))

    assert "missing: the rest of the generator's log of gaps" in line


def test_where_packets_wait_is_not_said_of_a_queue(tmp_path):
    rows = normal(3_000)
    for row in rows[1_000:2_000]:
        row["received_ns"] += (row["seq"] - 999) * 2_000
    meta = {"dut": {"driver": "loopback"}}

    [story] = explain_trial(
        write_trial(tmp_path, rows, [], QUIET, meta=meta), Options(over="100us")
    ).worst

    assert story.cause == "queueing"
    assert "packets sent before it and not yet back (load)" in story.line
    assert "the device" not in story.line
