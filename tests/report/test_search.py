"""A search in the report and on the terminal."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from made_documents import made_search, made_search_document
from made_run import VARIANTS, make_run
from taut.analysis.compare import compare_runs
from taut.analysis.load import load_words, loads_in_order
from taut.analysis.results import analyse_run
from taut.cli.search_job import with_latency
from taut.cli.search_words import print_search
from taut.core.errors import InputError
from taut.records.documents.json_form import parse, plain_object
from taut.records.documents.search import SEARCH_FILE, Bound, Closing, GoalFound, SearchDocument
from taut.records.rundir import RunDirectory
from taut.report.chart import as_spec
from taut.report.figures.bounds import BoundsClosingIn
from taut.report.html import write_html
from taut.report.scene import make_scenes
from taut.report.search import (
    found_words,
    headline,
    inversion_words,
    latency_legend,
    limit_words,
    names_of,
    read_search,
    rows,
    shown_trials,
    shown_variants,
)
from terminal import WIDTHS


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Trials at two rates, of which the search measured latency at one."""
    path = make_run(
        tmp_path_factory.mktemp("search") / "run",
        VARIANTS[:2],
        rates_pps=(100_000.0, 200_000.0),
        repetitions=1,
    )
    return RunDirectory(path), analyse_run(RunDirectory(path))


@pytest.fixture
def document(run):
    _, analysis = run
    [name] = [t.name for t in analysis.trials if "-eager-" in t.name and "100kpps" in t.name]
    return made_search_document(made_search((name,)), made_search(is_instrument=True))


def write(run, document):
    (run.path / SEARCH_FILE).write_text(json.dumps(plain_object(document)))


def test_it_is_read_as_it_was_written(run, document):
    write(run[0], document)

    assert read_search(run[0].path) == document
    assert parse(SearchDocument, json.loads(json.dumps(plain_object(document))), "x") == document


def test_the_page_opens_with_it_and_shows_loads_of_latency_alone(run, document, tmp_path):
    write(run[0], document)

    page = write_html([run], tmp_path / "report.html").read_text()

    assert page.index(headline(document)) < page.index("How much it carries")
    assert 'data-figure="bounds"' in page
    assert "packets lost or late" in page
    assert "irregular: above, the generator was held up" in page
    assert "no measure of any RFC" in page
    assert "100 kpkt/s, 64 B</h2>" in page
    assert "<h3>200 kpkt/s" not in page


def test_the_page_of_two_searches_has_a_table_of_every_pair_that_is_judged(run, document, tmp_path):
    write(run[0], document)
    compared = compare_runs(run, run)

    page = write_html([run, run], tmp_path / "report.html", compared).read_text()

    assert {load_words(pair.a.load) for pair in compared.pairs} == {
        "100 kpkt/s, 64 B",
        "200 kpkt/s, 64 B",
    }
    assert page.count('<caption class="sr">A and B: ') == len(compared.pairs)
    assert "<h3>200 kpkt/s" in page


def test_a_search_without_latency_shows_every_load(run):
    variants = run[1].variants

    assert shown_variants(variants, shown_trials(made_search_document())) == variants
    assert shown_variants(variants, shown_trials(None)) == variants


def test_a_search_of_another_taut_is_left_out_and_said(run, document, tmp_path):
    (run[0].path / SEARCH_FILE).write_text('{"format": 99}')

    page = write_html([run], tmp_path / "report.html").read_text()

    assert "format 99" in page
    assert "How much it carries" not in page
    with pytest.raises(InputError, match="format 99"):
        read_search(run[0].path)


def test_latency_is_that_of_the_trials_it_names(run, document):
    found = with_latency(document, run[1]).searches[0].latency[0]

    [name] = found.trials
    [variant] = [v for v in run[1].variants if name in v.trials]
    assert found.p50_ns == variant.latency.p50_ns
    assert found.max_ns == variant.latency.max_ns
    assert found.unsupported_percentiles == variant.doubt.unsupported_percentiles != ()
    assert found.void_share == variant.void_share > 0
    assert found.instrument_limited is variant.instrument_limited is False


def test_latency_has_the_marks_of_the_results_on_the_page_and_on_the_terminal(run, tmp_path):
    [at] = made_search().latency
    at = replace(
        at,
        unsupported_percentiles=("p99.9", "p99.99"),
        void_share=0.021,
        instrument_limited=True,
    )
    document = made_search_document(made_search(latency=(at,)))
    write(run[0], document)
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))

    page = write_html([run], tmp_path / "report.html").read_text()
    print_search(document, console, tmp_path / "report.html")

    shown = console.export_text()
    [row] = [line for line in shown.splitlines() if line.startswith("50 % of ndr")]
    assert " ".join(row.split()).endswith(" 2.1 % 1 µs 2 µs 3 µs* 4 µs")
    assert '<td class="num dim">3 µs*</td><td class="num">4 µs</td>' in page
    assert '<td class="num alert" title="above 1 %' in page
    for text in (page.replace("&#39;", "'"), " ".join(shown.split())):
        assert "* rests on fewer than 10 independent packets or stalls" in text
        assert "above 1 % in a repetition: its tail may be the generator's own." in text


def test_latency_that_is_well_known_needs_no_legend():
    assert latency_legend(made_search()) == []


def test_the_headline_says_what_is_only_known_from_below():
    assert headline(made_search_document()) == (
        "eager over memif, constant 64 B: ndr 900 kpkt/s, pdr at least 1 Mpkt/s."
    )


def test_what_a_loopback_carries_is_not_known_where_its_search_ended_early():
    known = made_search(is_max_the_instruments=True)

    assert limit_words(known).endswith("all that the loopback carries.")
    assert limit_words(replace(known, is_floor_stopped=True)).endswith(
        "all that the loopback was seen to carry before its search ended early."
    )


def test_bounds_that_are_close_are_told_apart_and_none_is_overstated():
    close = GoalFound("ndr", Bound(1_234_000, 1, 0), Bound(1_234_240, 0, 1), 1_234_000, None)
    odd = GoalFound("pdr", Bound(369_580, 1, 0), Bound(389_010, 0, 1), 369_580, None)
    one = made_search(found=(close, odd))

    assert [row[1:4] for row in rows(one)] == [
        ("1.234 Mpkt/s", "1.2343 Mpkt/s", "1.234 Mpkt/s"),
        ("369.5 kpkt/s", "389.1 kpkt/s", "369.5 kpkt/s"),
    ]
    assert found_words(odd) == "369.5 kpkt/s"


def test_the_headline_doubts_what_only_a_late_generator_shows():
    kept = replace(made_search().found[0], irregular="lower bound instrument limited")
    document = made_search_document(made_search(found=(kept,)))

    assert headline(document) == "eager over memif, constant 64 B: ndr perhaps 900 kpkt/s."
    assert rows(document.searches[0])[0][-1] == (
        "irregular: where it was kept, the generator was held up"
    )


def test_a_device_is_not_said_to_break_what_the_loopback_breaks_too():
    found = replace(
        made_search().found[0], lower=None, upper=None, irregular="loopback without a bound"
    )

    [row] = rows(made_search(found=(found,)))

    assert row[-1] == (
        "irregular: broken at the lowest load already, and the loopback has no bound either"
    )


def answered(*answers):
    """A search by trials of a second: load, loss ratio, and how each differs else."""
    [_, _, _, step] = made_search().steps
    steps = (
        replace(step, **{"load_pps": load, "loss_ratio": loss, **changes})
        for load, loss, changes in answers
    )
    return made_search(steps=tuple(steps))


def test_trials_that_contradict_each_other_are_told_with_their_number():
    one = answered((9e5, 0.0, {}), (8e5, 0.1, {}), (7e5, 0.0, {}), (1e6, 0.1, {}))

    [line] = inversion_words(one, made_search_document().goals[:1])

    assert line.startswith(
        "ndr: from 800 kpkt/s to 900 kpkt/s trials contradict each other, 1 kept it and 1 broke it"
    )


@pytest.mark.parametrize(
    "answers",
    [
        [(7e5, 0.0, {}), (8e5, 0.1, {})],
        [(8e5, 0.0, {}), (8e5, 0.1, {})],
        [(8e5, 0.0, {}), (8e5 * 0.996, 0.1, {})],
        [(9e5, 0.0, {}), (8e5, 0.1, {"instrument_limited": True})],
        [(9e5, 0.0, {"instrument_limited": True}), (8e5, 0.1, {})],
        [(9e5, 0.0, {"duration_ns": 10**8}), (8e5, 0.1, {})],
        [(9e5, 0.0, {"bounds": (Closing("fast", None, None),)}), (8e5, 0.1, {})],
        [(8e5, 0.0, {})],
        [],
    ],
    ids=[
        "an edge",
        "at one load",
        "within the width",
        "held up where it broke",
        "held up where it kept",
        "shorter",
        "of another goal",
        "none broken",
        "no trials",
    ],
)
def test_an_edge_is_no_contradiction(answers):
    assert inversion_words(answered(*answers), made_search_document().goals[:1]) == []


def test_contradictions_stand_on_the_page_and_on_the_terminal(run, tmp_path):
    document = made_search_document(answered((9e5, 0.0, {}), (8e5, 0.1, {})), made_search())
    write(run[0], document)
    console = Console(width=80, record=True, file=(tmp_path / "out").open("w"))

    page = write_html([run], tmp_path / "report.html").read_text()
    print_search(document, console, tmp_path / "report.html")

    assert "trials contradict each other" in page
    assert "trials contradict each other" in " ".join(console.export_text().split())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_terminal_has_every_bound_at_any_width(width, tmp_path, document):
    console = Console(width=width, record=True, file=(tmp_path / "out").open("w"))

    print_search(document, console, tmp_path / "report.html")

    shown = console.export_text()
    told = shown.partition("Report: ")[0]
    assert [line for line in told.splitlines() if len(line.rstrip()) > width] == []
    words = " ".join(told.split())
    for said in ("900 kpkt/s", "1 Mpkt/s", "997 kpkt/s", "50 % of ndr", "no measure of any RFC"):
        assert said in words


def test_searches_of_one_device_under_two_loads_are_told_apart(run, tmp_path):
    two = made_search(), made_search(frame="1518")
    other = made_search(device="other")

    assert names_of([*two, other]) == [
        "eager over memif, constant 64 B",
        "eager over memif, constant 1518 B",
        "other",
    ]
    [scene] = make_scenes([run], loads_in_order(run[1].variants))[:1]
    spec = as_spec(BoundsClosingIn().draw(replace(scene, searches=two)))
    lines = spec["layer"][1]["encoding"]["color"]["scale"]["domain"]
    assert sorted(lines) == [
        f"eager over memif, constant {length} B, {goal}"
        for length in (1518, 64)
        for goal in ("ndr", "pdr")
    ]
