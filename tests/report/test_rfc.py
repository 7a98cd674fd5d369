"""A recipe in the report and on the terminal: the RFC's tables, and what counts in them."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from made_rfc import MOST_PPS, made_latency, made_rfc, made_row
from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.analysis.rfc import with_figures
from taut.cli.rfc_words import print_rfc
from taut.core.errors import InputError
from taut.records.documents.json_form import parse, plain_object
from taut.records.documents.results import WITHOUT_VOID
from taut.records.documents.rfc import (
    RFC_FILE,
    Burst,
    BurstsFound,
    LatencyFound,
    LatencyTrial,
    LongestBurst,
    RecoveryFound,
    RecoveryTrial,
    ResetFound,
    ResetTrial,
    RfcDocument,
)
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.report.rfc import cautions, headline, problems, read_rfc, statements_of, tables_of
from terminal import WIDTHS

SYSTEM = "System recovery"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = make_run(
        tmp_path_factory.mktemp("rfc") / "run",
        VARIANTS[:2],
        rates_pps=(100_000.0, 200_000.0),
        repetitions=1,
    )
    return RunDirectory(path), analyse_run(RunDirectory(path))


def table(document: RfcDocument, title: str) -> tuple[tuple[str, ...], ...]:
    found = {one.title: one.rows for one in tables_of(document, document.results)}
    return found[title]


def test_a_most_that_nobody_knows_is_not_shown_and_nothing_is_a_share_of_it():
    document = replace(made_rfc(), results=(made_row(is_max_known=False),))

    assert table(document, "Throughput")[0][3:5] == ("–", "–")


def test_throughput_has_a_row_a_size_and_says_why_there_is_none():
    assert table(made_rfc(), "Throughput") == (
        ("64 B", "400 kpkt/s", "204.8 Mbit/s", "500 kpkt/s", "80 %", ""),
        (
            "1518 B",
            "–",
            "–",
            "500 kpkt/s",
            "–",
            "irregular: broken at the lowest load already; lower --min",
        ),
    )


def test_latency_of_rfc_2544_is_the_average_of_the_tags_that_count():
    assert table(made_rfc(), "Latency") == (("64 B", "400 kpkt/s", "20 µs", "100 %", "2 of 3"),)


def test_tags_that_were_lost_or_void_are_not_among_those_that_are_averaged():
    lost = made_latency("b", 0, n_tags=0, n_tags_lost=1, tags_mean_ns=None)
    trials = (made_latency("a", 10_000), lost, made_latency("c", 30_000))

    [row] = table(made_rfc("2544", made_row(latency=LatencyFound(4e5, trials))), "Latency")

    assert row[2:] == ("20 µs", "67 %", "3 of 3")
    void = made_latency("d", 0, n_tags=0, n_tags_void=1, tags_mean_ns=None)
    some = made_row(latency=LatencyFound(4e5, (*trials, void)))
    assert table(made_rfc("2544", some), "Latency")[0][2:] == ("20 µs", "50 %", "4 of 4")


def test_where_packets_are_not_recorded_there_is_no_number_of_tags():
    unknown = LatencyFound(4e5, (LatencyTrial("a", False),))

    [row] = table(made_rfc("2544", made_row(latency=unknown)), "Latency")

    assert row[2:] == ("–", "–", "1 of 1")


@pytest.mark.parametrize("rfc", ["2544", "8219"])
def test_latency_of_all_packets_says_what_was_lost_and_what_the_generator_was_late_with(rfc):
    assert table(made_rfc(rfc), "Latency of all packets on time") == (
        ("64 B", "400 kpkt/s", "200", "0.5 %", "21 µs", "40 µs", "80 µs", "240 µs", "2 of 3"),
    )


def test_of_an_older_taut_nobody_says_how_many_packets_were_void():
    trials = tuple(replace(made_latency(name, 10_000), void=None) for name in "ab")

    document = made_rfc("2544", made_row(latency=LatencyFound(4e5, trials)))
    assert table(document, "Latency of all packets on time")[0][3] == "–"


def test_latency_of_rfc_8219_is_the_median_with_its_ends():
    [row] = table(made_rfc("8219"), "Latency: typical (TL) and worst case (WCL)")

    assert row == (
        "64 B",
        "400 kpkt/s",
        "20 µs",
        "10 µs, 30 µs",
        "60 µs",
        "30 µs, 90 µs",
        "100 %",
    )
    [variation] = table(made_rfc("8219"), "Packet delay variation")
    assert variation[2:] == ("70 µs", "35 µs, 105 µs", "-20 µs", "0 ns", "20 µs")


def test_where_no_trial_counts_the_numbers_are_marked():
    spoilt = LatencyFound(4e5, (made_latency("a", 10_000, instrument_limited=True),))
    document = made_rfc("2544", made_row(latency=spoilt))

    assert table(document, "Latency") == (("64 B", "400 kpkt/s", "10 µs?", "100 %", "0 of 1"),)
    assert table(document, "Latency of all packets on time") == (
        ("64 B", "400 kpkt/s", "100", "0.5 %", "11 µs?", "20 µs?", "40 µs?", "80 µs?", "0 of 1"),
    )


def test_loss_stands_at_shares_of_the_most_and_is_marked_where_it_may_be_the_generators():
    assert table(made_rfc(), "Frame loss rate") == (("64 B", "20 %", "5 %?", "0 %", "0 %"),)


def test_recovery_is_averaged_over_what_counts():
    assert table(made_rfc(), SYSTEM) == (
        ("64 B", "400 kpkt/s", "440 kpkt/s", "6 ms", "4 ms, 8 ms", "2 of 3", "1,100", "7"),
    )


def test_a_recovery_that_nobody_knows_is_not_among_those_that_are_averaged():
    trials = (
        RecoveryTrial("r1", False, 4_000_000, 500, 20, 0),
        RecoveryTrial("r2", False, None, 500, 0, 30),
        RecoveryTrial("r3", False, 0, 0, 0, 0),
    )
    [row] = table(made_rfc("2544", made_row(recovery=RecoveryFound(4.4e5, 2.2e5, trials))), SYSTEM)

    assert row[3:] == ("4 ms", "4 ms, 4 ms", "1 of 3", "1,000", "30")


def test_a_reset_is_a_statement_with_both_methods():
    [said, *others] = statements_of(made_rfc().results)

    assert "no packet for 400 ms on average (300 ms to 500 ms)" in said
    assert "320,000 packets lost, which at that rate are 400 ms; 2 of 2 trials count." in said
    assert others == ["1518 B: no latency: there is no throughput to start from."]


def test_a_device_that_did_not_come_back_is_said_to_have_not():
    gone = ResetFound(4e5, (ResetTrial("x", False, None, 999, 1),))

    assert "it did not come back; 1 trials." in statements_of([made_row(reset=gone)])[0]


def test_a_device_that_came_back_but_sometimes_is_said_to():
    trials = (ResetTrial("x", False, 300_000_000, 240_000, 300_000_000),)
    sometimes = ResetFound(4e5, (*trials, ResetTrial("y", False, None, 999, 1)))

    [said] = statements_of([made_row(reset=sometimes, not_run=())])

    assert "no packet for 300 ms on average" in said
    assert "2 of 2 trials count. In 1 of them it did not come back; these are in no" in said


def test_what_a_reset_lost_while_the_generator_was_held_up_is_told_apart():
    trials = (ResetTrial("x", False, 300_000_000, 240_000, 300_000_000, 50),)

    [said] = statements_of([made_row(reset=ResetFound(4e5, trials), not_run=())])

    assert "240,000 packets lost, which at that rate are 300 ms (50 more in all, while the" in said


def test_without_records_nothing_is_said_of_resets_and_recoveries():
    unknown = made_row(
        reset=ResetFound(4e5, (ResetTrial("x", False),)),
        recovery=RecoveryFound(4.4e5, 2.2e5, (RecoveryTrial("r", False),)),
    )

    assert "packets were not recorded" in statements_of([unknown])[0]
    [row] = table(made_rfc("2544", unknown), SYSTEM)
    assert row[3:] == ("–", "–", "0 of 1", "–", "–")


def test_a_test_that_failed_in_the_middle_is_said_and_is_a_problem():
    died = made_row(failed=("latency: 019-bridge: the device died",))

    assert "64 B: latency: 019-bridge: the device died. Shown is" in statements_of([died])[-1]
    assert problems(made_rfc("2544", died)) == [
        "bridge, 64 B: latency: 019-bridge: the device died"
    ]


def test_bursts_have_the_rfcs_buffer_times():
    # 1,000 frames at 500,000 a second; a fifth of them was still there (6.4).
    assert table(made_rfc("9004"), "Back-to-back frames") == (
        ("64 B", "1,000", "900, 1,100, 141", "2 ms", "400 µs", "2 of 3"),
    )


def test_bursts_none_of_which_counts_are_marked():
    spoilt = BurstsFound(
        MOST_PPS,
        tuple(LongestBurst(n, False, True, (Burst(n, ("b",), 1, True),)) for n in (900, 1_100)),
    )

    assert table(made_rfc("9004", made_row(bursts=spoilt)), "Back-to-back frames") == (
        ("64 B", "1,000?", "900, 1,100, 141", "2 ms?", "400 µs?", "0 of 2"),
    )


@pytest.mark.parametrize(
    ("n_tags", "said"),
    [
        (50, "Of 50 tags the 99.9th percentile is the maximum"),
        (500, "Of 500 tags the 99.9th percentile is the maximum"),
        (5_000, "Of 5,000 tags the 99.9th percentile has 5 above it"),
    ],
)
def test_the_caution_on_tags_is_of_so_many(n_tags, said):
    document = made_rfc("8219")
    document = replace(document, recipe=replace(document.recipe, tags=n_tags))

    assert cautions(document)[-1].startswith(f"{said}, and ")


def test_reordering_is_of_all_trials():
    assert table(made_rfc(), "Reordering") == (
        ("64 B", "400 kpkt/s", "2,999,700", "4 (0.00013 %)", "7", "2"),
    )


def test_problems_name_the_remedy():
    assert problems(made_rfc()) == [
        "bridge, 1518 B: throughput: fails at 1,000 pkt/s already, the lowest load; lower it: --min"
    ]


def test_figures_come_from_analysis_and_records(run):
    directory, analysis = run
    names = [t.name for t in analysis.trials if "-eager-" in t.name]
    row = made_row(
        latency=LatencyFound(1e5, (LatencyTrial(names[0], False),)),
        recovery=RecoveryFound(1e5, 5e4, (RecoveryTrial(names[0], False),)),
        reset=ResetFound(1e5, (ResetTrial(names[0], False),)),
    )
    document = made_rfc("8219", row)
    recipe = replace(
        document.recipe, tag_after_ns=10**8, latency_ns=19 * 10**7, tags=500, both=False
    )

    [found] = with_figures(replace(document, recipe=recipe), directory, analysis).results

    [figures] = [t.figures for t in analysis.trials if t.name == names[0]]
    [one] = found.latency.trials
    on_time = figures.metrics.latency(WITHOUT_VOID)
    assert on_time.n < figures.metrics.latency().n
    assert one.p99_9_ns == on_time.percentiles_ns["p99.9"]
    assert one.pdv_p99_9_ns == one.p99_9_ns - one.min_ns
    assert one.ipdv_max_ns == figures.metrics.without_void["ipdv"].max_ns
    assert one.void == figures.warm.void > 0
    assert one.n_tags + one.n_tags_lost + one.n_tags_void == 500
    assert one.n_tags_void > 0
    assert one.min_ns <= one.tags_p50_ns <= one.tags_p99_9_ns <= one.max_ns
    assert one.received == figures.warm.matched
    assert found.recovery.trials[0].lost_before is not None
    # made_run's device stands still for a millisecond.
    assert found.reset.trials[0].reset_ns == pytest.approx(1_000_000, rel=0.05)


def write(run, document):
    (run.path / RFC_FILE).write_text(json.dumps(plain_object(document)))


def test_the_page_opens_with_verdict_and_what_was_shortened(run, tmp_path):
    directory, analysis = run
    [name] = [t.name for t in analysis.trials if "-eager-" in t.name and "100kpps" in t.name]
    latency = LatencyFound(1e5, (made_latency(name, 10_000),))
    document = made_rfc("2544", made_row(latency=latency))
    write(directory, document)

    page = write_html([run], tmp_path / "report.html").read_text()

    assert page.index(headline(document)) < page.index("Not as RFC 2544 has it: frame sizes")
    assert page.index("Not as RFC 2544 has it") < page.index('<h2 id="rfc-2544">')
    for said in ("Frame loss rate", "System recovery", "no packet for 400 ms", "RFC 9971 says why"):
        assert said in page.replace("\u00a0", " ")
    assert "<h3>200 kpkt/s" not in page
    assert read_rfc(directory.path) == document
    assert parse(RfcDocument, json.loads(json.dumps(plain_object(document))), "x") == document
    (directory.path / RFC_FILE).unlink()


def test_a_whole_recipe_shortens_nothing_and_says_nothing_of_it(tmp_path):
    document = made_rfc(quick=False)

    assert document.shortened == ()
    assert "Not as RFC" not in told(document, 80, tmp_path)


def test_a_recipe_of_another_taut_is_left_out_and_said(run, tmp_path):
    (run[0].path / RFC_FILE).write_text('{"format": 99}')

    page = write_html([run], tmp_path / "report.html").read_text()

    assert "format 99" in page
    with pytest.raises(InputError, match="format 99"):
        read_rfc(run[0].path)
    (run[0].path / RFC_FILE).unlink()


def told(document: RfcDocument, width: int, tmp_path) -> str:
    console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))
    print_rfc(document, console, tmp_path / "report.html")
    return console.export_text()


@pytest.mark.parametrize("rfc", ["2544", "8219", "9004"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_terminal_has_it_at_any_width(rfc, width, tmp_path):
    shown = told(made_rfc(rfc), width, tmp_path).partition("Report: ")[0]

    assert [line for line in shown.splitlines() if len(line.rstrip()) > width] == []
    words = " ".join(shown.split())
    assert f"Not as RFC {rfc} has it: frame sizes 64, 512, 1518 B" in words
    assert "400 kpkt/s" in words
