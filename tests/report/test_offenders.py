import io
from typing import Any

import pytest
from rich.console import Console

from made_documents import made_explanation
from taut.records.documents.explanation import ExplanationDocument
from taut.report.explained import print_offenders
from taut.report.offenders import MOST_ROWS, groups_of, legend


def offender(who: str, **changes: Any) -> dict[str, Any]:
    of = {
        "role": "device",
        "core": 1,
        "cause": "preemption",
        "who": f'"{who}"' if who else "",
        "n_stalls": 2,
        "n_guesses": 0,
        "taken_ns": 2_000_000,
        "n_packets": 50,
        "worst_ns": 1_500_000,
        "checks": [
            {"check": "K04", "title": "isolated", "audit": "PASS"},
            {"check": "R24", "title": "other programs", "audit": "FAIL"},
        ],
    }
    return of | changes


def explained(*offenders: dict[str, Any]) -> ExplanationDocument:
    return made_explanation(tail_packets=100, offenders=list(offenders))


def test_the_same_one_in_several_trials_is_one_row_with_the_check_that_failed():
    [group] = groups_of([explained(offender("cc1")), explained(offender("cc1", worst_ns=7))])

    [row] = group.rows
    assert (row.who, row.time, row.packets) == ('Another thread, "cc1"', "4 ms", "100 (100 %)")
    assert (row.worst, row.core, row.remedy) == ("1.50 ms", "1", "R24 FAIL")


NO = "NOT_APPLICABLE"


def checked(**audits: str) -> list[dict[str, str]]:
    return [{"check": name, "title": "", "audit": audit} for name, audit in audits.items()]


@pytest.mark.parametrize(
    ("cause", "checks", "remedy"),
    [
        ("preemption", {"K04": "PASS", "R22": "UNKNOWN", "R24": "FAIL"}, "R24 FAIL, R22 UNKNOWN"),
        ("smi", {"G01": NO, "G02": NO, "V01": "UNKNOWN"}, "V01 UNKNOWN"),
        ("measurer", {"K04": "PASS", "R24": NO}, "the generator's core"),
        ("preemption", {"K04": "PASS"}, ""),
        ("preemption", {"K04": "", "R24": ""}, "K04, R24"),
    ],
)
def test_only_remedies_that_may_help_are_named(cause: str, checks: dict[str, str], remedy: str):
    one = offender("cc1", cause=cause, checks=checked(**checks))

    assert groups_of([explained(one)])[0].rows[0].remedy == remedy


def test_the_generators_core_comes_after_the_devices():
    own = offender("mypy", role="generator", core=0, n_packets=900)

    groups = groups_of([explained(own, offender("cc1"))])

    assert [group.title for group in groups] == ["Device's core", "Generator's core"]


def test_small_ones_are_one_row_and_nothing_is_lost():
    small = [offender(f"s{n}", n_packets=1, taken_ns=10) for n in range(9)]
    many = [offender(f"m{n}", n_packets=200 + n) for n in range(MOST_ROWS + 1)]

    [group] = groups_of([explained(*small, *many)])

    assert len(group.rows) == MOST_ROWS + 1
    assert group.rows[-1].who == "10 others together"
    assert len(group.more) == 10
    counts = [int(row.packets.split()[0]) for row in group.rows]
    assert sum(counts) == 9 + sum(200 + n for n in range(MOST_ROWS + 1))


def test_a_guess_looks_like_one():
    throttled = offender("", cause="throttled", n_guesses=2)
    some = offender("cc1", n_guesses=1)

    rows = groups_of([explained(throttled, some)])[0].rows

    assert [(row.who, row.is_guess) for row in rows] == [
        ("Perhaps throttling (a guess)", True),
        ('Another thread, "cc1" (a guess in 1 of 2)', False),
    ]


def test_that_nothing_is_known_is_no_guess_and_has_no_remedy():
    one = offender("", cause="unknown", n_guesses=2, checks=[])

    [row] = groups_of([explained(one)])[0].rows

    assert (row.who, row.is_guess, row.remedy) == ("Not known", False, "")


def test_taut_itself_is_called_so_and_a_device_of_tauts_is_not():
    rows = groups_of([explained(offender("taut-trace"), offender("taut-forward"))])[0].rows

    assert [row.who for row in rows] == [
        'Taut itself, "taut-trace"',
        'Another thread, "taut-forward"',
    ]


def test_results_of_before_there_were_offenders_have_no_table():
    old = made_explanation(tail_packets=100)

    assert groups_of([old]) == []
    assert "N = 100)" in legend([old])


def test_where_not_all_late_packets_were_recorded_the_legend_says_so():
    partial = made_explanation(tail_packets=100, above_packets=900)

    assert "N = 150 recorded of 950)" in legend([partial, made_explanation(tail_packets=50)])


def test_the_legend_says_what_is_late_and_what_lateness_counts_from():
    usual = made_explanation(over="p99.9", p50_ns=900, base_ns=900)
    short = made_explanation(over="25us", threshold_ns=25_000, p50_ns=30_000, base_ns=25_000)
    overload = made_explanation(over="p99.9", p50_ns=900_000, base_ns=0)

    assert "late ones (above p99.9 of their trial, N =" in legend([usual])
    assert "was late, above its trial's median. What" in legend([usual])
    assert "late ones (above 25 µs, N =" in legend([short])
    assert "was late, above 25 µs. What" in legend([short])
    both = "was late, above its trial's median or above zero (overload). What"
    assert both in legend([usual, overload, usual])
    assert "was late. What" in legend([made_explanation()])


def test_the_terminal_prints_numbers_whole_at_80_columns():
    out = io.StringIO()
    of = explained(offender("long-name-without-a-blank"), offender("cc1", role="generator", core=0))

    print_offenders([of], Console(file=out, width=80), details=False)

    text = out.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert {"Device's", "Generator's", "1.50", "(50"} <= set(text.split())
