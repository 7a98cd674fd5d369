"""What `taut quick` says of a run; the run itself is tests/docs/test_tutorials.py."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.cli.quick import EXPERIMENT
from taut.cli.quick_words import found_words, print_quick
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.records.documents.results import Analysis
from taut.records.rundir import RunDirectory


def test_it_takes_about_20_seconds() -> None:
    assert 10e9 < make_plan(parse_spec(EXPERIMENT)).total_ns < 20e9


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    path = tmp_path_factory.mktemp("quick") / "run"
    return analyse_run(RunDirectory(make_run(path, VARIANTS, repetitions=1)))


def shown(document: Analysis) -> str:
    out = io.StringIO()
    print_quick(document, Path("runs/quick/report.html"), Console(file=out, width=80))
    return out.getvalue()


def test_one_table_two_sentences_the_report_and_what_is_next(document: Analysis) -> None:
    text = shown(document)

    assert [len(re.findall(rf"^{name} ", text, re.M)) for name in ("floor", "eager")] == [1, 1]
    sentences = text.partition("\n\nHalf of")[2].partition("\n\n")[0]
    assert len(re.findall(r"\.(?:\s|$)", sentences)) == 2
    assert "Report: runs/quick/report.html\n" in text
    assert "taut init" in text
    assert "`taut run` as root knows more" in text
    assert {trial.trace for trial in make_plan(parse_spec(EXPERIMENT)).trials} == {"off"}


def test_a_star_is_explained_where_there_is_one(document: Analysis) -> None:
    words = "* rests on fewer than 10 independent packets or stalls: says little of the device."
    known = tuple(
        replace(row, doubt=replace(row.doubt, unsupported_percentiles=()))
        for row in document.variants
    )

    text = shown(document)

    assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert "*" not in shown(replace(document, variants=known))


def test_the_floor_stands_beside_the_median_and_is_no_part_of_it() -> None:
    said = found_words({"floor": "60 ns", "eager": "290 ns", "buffered": "50.8 µs"})

    assert "290 ns when each is sent at once (60 ns without any device), 50.8 µs when" in said


def test_a_device_that_failed_is_not_compared() -> None:
    assert "Only floor, eager could be measured" in found_words({"floor": "1 ns", "eager": "2 ns"})


@pytest.mark.parametrize(
    ("void_share", "words"),
    [(0.0, "No proof, and trust percentiles as far as"), (0.6, "Do not trust even the medians")],
)
def test_trust_ends_where_the_generator_was_late(
    document: Analysis, void_share: float, words: str
) -> None:
    variants = tuple(replace(row, void_share=void_share) for row in document.variants)

    text = " ".join(shown(replace(document, variants=variants)).split())

    assert words in text
    assert "each device ran once for 3 s (`taut run` repeats)" in text
