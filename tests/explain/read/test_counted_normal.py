"""A trial of slow packets alone: what is usual in it is what all of its packets would say."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_packets import packet
from made_trace import HOG, POLLER, PREEMPTED, MadeTrace, held, normal, write_trial
from taut.core.errors import InputError
from taut.explain import Options, as_document, explain_trial
from taut.explain.read.counted_normal import read_counted_normal
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.trial import Traffic, TrialDocument
from taut.records.tables import HISTOGRAM
from taut.report.explanation import summary

SECOND_NS = 1_000_000_000
MS = 1_000_000


def document() -> TrialDocument:
    return TrialDocument(
        traffic=Traffic(duration_ns=9 * SECOND_NS, warm_up_ns=SECOND_NS, record="tail"),
        generator=GeneratorResult(
            counters={"void": 7, "lost": 5, "lost_cold": 2, "unsent": 9, "unsent_cold": 7}
        ),
    )


def write(trial: Path, counts: dict[int, int]) -> None:
    """Beside them stand those of another series, and a warm-up that was slow."""
    table = pa.table(
        {
            "series": ["service"] * len(counts) + ["intent", "service"],
            "direction": [0] * (len(counts) + 2),
            "is_cold": [False] * (len(counts) + 1) + [True],
            "value_ns": [*counts, 1, 5_000_000],
            "n": [*counts.values(), 99, 400],
        }
    )
    pq.write_table(table, trial / HISTOGRAM)


def test_the_threshold_is_a_percentile_of_all_packets_not_of_those_recorded(
    tmp_path: Path,
) -> None:
    # Out of order, as directions follow each other in the file.
    write(tmp_path, {90_000: 10, 2_000: 500, 1_000: 490})

    normal = read_counted_normal(tmp_path, document(), "p99")

    assert (normal.n_packets, normal.low_ns, normal.p50_ns) == (1_000, 1_000, 2_000)
    assert normal.threshold_ns == 2_000
    assert normal.mean_interval_ns == 9 * SECOND_NS // 1_000
    assert (normal.n_void, normal.n_gone) == (7, 5)
    assert normal.n_above == 10
    assert normal.is_partial
    assert read_counted_normal(tmp_path, document(), "p99.5").threshold_ns == 90_000
    assert read_counted_normal(tmp_path, document(), "25us").threshold_ns == 25_000


def test_where_no_packet_came_back_there_is_nothing_to_explain(tmp_path: Path) -> None:
    write(tmp_path, {})

    with pytest.raises(InputError, match="no packet came back"):
        read_counted_normal(tmp_path, document(), "p99")


def test_a_trial_so_quiet_that_no_packet_was_recorded_is_explained(tmp_path: Path) -> None:
    traffic = {"duration_ns": SECOND_NS, "warm_up_ns": 0, "record": "tail"}
    trial = write_trial(tmp_path, [], meta={"traffic": traffic})
    write(trial, {900: 1_000})

    found = explain_trial(trial, Options())

    assert (found.n_packets, found.n_tail, found.worst) == (1_000, 0, ())


def slow_ones(tmp_path: Path, rows: list, counts: dict[int, int], *more: Any) -> Path:
    """A trial of which only these rows were recorded."""
    traffic = {"duration_ns": 30 * MS, "warm_up_ns": 0, "record": "tail"}
    trial = write_trial(tmp_path, rows, *more, meta={"traffic": traffic})
    write(trial, counts)
    return trial


def test_how_many_are_above_the_threshold_is_counted_not_taken_from_the_records(
    tmp_path: Path,
) -> None:
    rows = [packet(s * 900, 50_000) for s in range(10)]
    trial = slow_ones(tmp_path, rows, {1_000: 9_900, 50_000: 100})

    found = explain_trial(trial, Options(over="p99"))
    document = as_document(found)

    assert (found.n_tail, document.tail_packets, document.above_packets) == (10, 10, 100)
    assert "of 100 packets above p99 only 10 were recorded" in found.notes[-1]
    assert "10 recorded of 100 packets above p99 (1 µs)" in summary(document)
    # Above the time all are recorded that there are.
    whole = as_document(explain_trial(trial, Options(over="60us")))
    assert (whole.tail_packets, whole.above_packets) == (0, None)


def test_a_packet_that_is_rounded_down_to_the_threshold_was_recorded(tmp_path: Path) -> None:
    # Seven of them are counted a nanosecond above the threshold, and recorded at it.
    rows = [packet(s * 900, 1_000 if s < 7 else 50_000) for s in range(10)]
    trial = slow_ones(tmp_path, rows, {1_000: 990, 1_001: 7, 50_000: 3})

    found = explain_trial(trial, Options(over="p99"))

    assert (found.threshold_ns, found.n_tail, found.n_above) == (1_000, 3, 3)
    assert not any("were recorded: causes" in note for note in found.notes)
    # One that is not there is missed all the same.
    trial = slow_ones(tmp_path / "less", rows, {1_000: 990, 1_001: 6, 50_000: 4})
    assert explain_trial(trial, Options(over="p99")).n_above == 10


def test_of_slow_packets_alone_every_verdict_is_a_guess_and_told_as_one(tmp_path: Path) -> None:
    start, end = 10 * MS + 5_000, 15 * MS + 5_000
    trace = MadeTrace().switch(start + 100, POLLER, HOG, PREEMPTED).switch(end - 100, HOG, POLLER)
    rows = [r for r in held(normal(3_000), start, end) if r["received_ns"] - r["sent_ns"] > 20_000]
    counts = {1_100: 2_500, 2_000_000: 500}
    trial = slow_ones(tmp_path, rows, counts, [(start, end, "forwarder")], trace)

    found = explain_trial(trial, Options(over="20us"))

    [story], [offender], [total] = found.worst, found.offenders, found.gap_totals
    assert 'late: perhaps core 1 was taken for 5 ms by another thread, "hog"' in story.line
    assert "a guess; missing: the packets between the slow ones" in story.line
    assert (offender.cause, offender.n_guesses, offender.n_stalls) == ("preemption", 1, 1)
    assert (total.n_guesses, total.words) == (1, "maybe another thread ran")


def test_so_is_a_queue_of_them(tmp_path: Path) -> None:
    rows = [packet(s, 30_000 + 2_000 * (s - 999)) for s in range(1_000, 2_000)]
    trial = slow_ones(tmp_path, rows, {1_000: 2_000, 900_000: 1_000}, (), MadeTrace().vector(1, 2))

    story = explain_trial(trial, Options(over="20us")).worst[0]

    assert story.cause == "queueing"
    assert "late: perhaps it waited behind" in story.line


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"stats": {"gaps": {}}}, "queueing"),
        # Its log was full, or it was restarted: nothing says whether it stood still.
        ({"stats": {"gaps": {"not_logged": 3}}}, "unknown"),
        ({"stats": {"gaps": {}}, "logged_from_ns": 20 * MS}, "unknown"),
    ],
)
def test_no_queue_is_told_while_the_device_has_no_log(
    tmp_path: Path, changes: dict[str, Any], cause: str
) -> None:
    rows = held(normal(3_000), 10 * MS + 5_000, 15 * MS + 5_000)
    slow = [row for row in rows if row["received_ns"] - row["sent_ns"] > 20_000]
    traffic = {"duration_ns": 30 * MS, "warm_up_ns": 0, "record": "tail"}
    dut = {"driver": "taut_forward", "options": {}, **changes}
    quiet = MadeTrace().vector(1, 2)
    trial = write_trial(tmp_path, slow, [], quiet, meta={"dut": dut, "traffic": traffic})
    write(trial, {1_100: 2_500, 2_000_000: 500})

    told = {c.cause: c.n_packets for c in explain_trial(trial, Options(over="20us")).causes}

    assert max(told, key=lambda name: told[name]) == cause
    assert ("queueing" in told) == (cause == "queueing")
