"""What a search by content found, in words: the terminal and the report say the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from made_documents import made_analysis, made_result
from taut.records.documents.results import TrialResult
from taut.records.rundir import RunDirectory
from taut.report.captures import (
    CONTENT_COLUMNS,
    Captured,
    captures_of,
    clock_words,
    content_rows,
    content_words,
    open_words,
    position_words,
)

RUN = {
    "where": "inside",
    "direction": "slower",
    "first_position": 9_000,
    "last_position": 9_059,
    "n_packets": 60,
    "time_ns": 900_000_000,
    "median_ns": 53_200,
    "rest_median_ns": 3_200,
}
CLASS = {
    "field": "ipv4 id",
    "value": "4660",
    "direction": "slower",
    "packets": 4,
    "median_ns": 6_200,
    "rest_median_ns": 3_200,
    "shift_ns": 3_000,
    "shift_interval_ns": [2_900, 3_100],
    "tail": {"n": 4, "n_class": 4, "of_class": 1.0, "of_tail": 1.0, "of_rest": 0.0},
    "also": [],
    "by_capture": [],
    "p_corrected": 1e-5,
    "first_packets": [{"position": 7, "time_ns": 700_000, "latency_ns": 6_200}],
    "alternative": "something with a period of 65,536 packets",
}


def result(**content: Any) -> TrialResult:
    found = {"packets": 9_000, "classes": [], "tests": 1_000, "captures": 1, **content}
    sides = {"ingress": 0, "egress": 0}
    clocks = dict.fromkeys(
        (
            "drift_ppb",
            "drift_uncertainty_ppb",
            "offset_plus_least_latency_ns",
            "offset_uncertainty_ns",
        )
    )
    capture = {
        **dict.fromkeys(("matched", "lost", "duplicate_keys", "duplicates", "orphans"), 0),
        **dict.fromkeys(("negative", "beyond_window", "out_of_sequence"), 0),
        "ambiguous": sides,
        "truncated": sides,
        "transfer_rate": None,
        "clocks": {**clocks, "n_points": 0},
        "key": "default",
        "window_ns": 1,
        "skip_ns": 0,
        "content": found,
    }
    return made_result(dut="switch", capture=capture)


def trial(**content: Any) -> Captured:
    found = result(**content).capture
    assert found is not None
    return Captured("switch", found)


def test_captures_of_several_runs_are_told_apart():
    analysis = made_analysis((result(), made_result(name="live")))
    runs = [(RunDirectory(Path(name)), analysis) for name in ("one", "two")]

    assert [pair.name for pair in captures_of(runs[:1])] == ["switch"]
    assert [pair.name for pair in captures_of(runs, ["A", "B"])] == [
        "switch, 100 kpkt/s, repetition 1 (A)",
        "switch, 100 kpkt/s, repetition 1 (B)",
    ]


def test_what_would_look_the_same_stands_beside_the_value():
    of = trial(classes=[CLASS], captures=2)

    (row,) = content_rows(of)
    said = dict(zip(CONTENT_COLUMNS, row, strict=True))
    assert said["value"] == "4660 (?)"
    assert open_words(of) == [
        "switch: ipv4 id = 4660 (?), or something with a period of 65,536 packets: "
        "a capture in which the value comes at another place settles it (--with)"
    ]
    assert content_words(of) == (
        "switch: 1 class of packets is slower or faster than those around them, with a value in "
        "common; something else would look the same (2 captures, 1,000 tests)"
    )


def test_what_each_of_several_captures_has_in_the_tail_stands_beside_its_share():
    of_each = [{"packets": 1_376, "in_tail": 12}, {"packets": 394, "in_tail": 64}]
    shares = [
        dict(zip(CONTENT_COLUMNS, row, strict=True))["share of its tail"]
        for found in (of_each, of_each[:1])
        for row in content_rows(trial(classes=[CLASS | {"by_capture": found}]))
    ]

    with_others = "100 % of 4 (12 of 1,376 packets here, of the other captures 64 of 394)"
    assert shares == [with_others, "100 % of 4"]


def test_of_several_classes_it_is_said_how_many_are_open():
    settled = CLASS | {"alternative": None}

    words = content_words(trial(classes=[CLASS, settled, settled]))

    assert "something else would look the same (1 of them) (1,000 tests)" in words
    assert content_rows(trial(classes=[settled]))[0][2] == "4660"
    assert open_words(trial(classes=[settled])) == []


def test_runs_of_neighbours_are_told_by_their_place():
    first = RUN | {"where": "first", "first_position": 0, "last_position": 0, "time_ns": 0}
    last = RUN | {"where": "last", "direction": "faster", "median_ns": 1_200}

    words = position_words(trial(positions={"runs": [first, RUN, last], "n_runs": 5}))

    assert words == [
        "switch: the first packet (0) is slower than the rest by 50 µs, from 0.000000 s",
        "switch: packets 9,000 to 9,059 are slower than the rest by 50 µs, from 0.900000 s",
        "switch: the last 60 packets (9,000 to 9,059) are faster than the rest by 2 µs, "
        "from 0.900000 s",
        "switch: 2 more runs of neighbours like these",
    ]


def test_results_from_before_there_were_positions_are_read():
    assert position_words(trial()) == []
    assert content_words(trial()) == (
        "switch: no class of packets that is slower or faster was found (1,000 tests)"
    )


def test_a_drift_of_ordinary_clocks_is_written_in_full():
    name, found = trial()
    clocks = {"drift_ppb": 20_123.4, "drift_uncertainty_ppb": 1_250.0}

    words = clock_words(Captured(name, replace(found, clocks=replace(found.clocks, **clocks))))

    assert words.startswith(
        "switch: the least latency grows by 20,100 ± 1,200 ns a second: two clocks that part "
        "(--remove drift takes it off), or a queue that fills; offset plus"
    )
