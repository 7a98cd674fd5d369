"""A soak in words: what is said of the device and what of the generator, and what is a guess."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from made_run import VARIANTS, make_run
from made_soak import course, document, latency, row, segment
from taut.analysis.results import analyse_run
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import Analysis
from taut.records.documents.soak import SOAK_FILE, Beyond, CausesOfHour
from taut.records.rundir import RunDirectory
from taut.report.html import write_html
from taut.report.soak import beyond_words, causes_rows, figures_words, headline


def test_what_the_generator_held_up_is_left_out_of_the_first_line_and_told() -> None:
    held = course([segment([row(sent=1_000, lost=5, void=20)])])
    held = replace(
        held,
        counters={**held.counters, "lost_void": 4},
        latency=latency(995, max_ns=85_000_000),
        on_time=latency(975, max_ns=9_000),
    )

    assert headline(replace(document(held), planned_ns=held.measured_ns)) == (
        "eager: 5 min 0 s, p99.9 1 µs, max 9 µs, 1 of 1,000 packets lost; the generator was late "
        "with 2 %, which are left out."
    )
    on_time, whole = figures_words(document(held))
    assert on_time.startswith("eager, without what the generator itself held up (2 % of the pack")
    assert on_time.endswith("max 9 µs")
    assert whole.startswith("eager, with it: p50 ")
    assert whole.endswith("max 85 ms")


def test_a_generator_that_was_never_late_is_not_mentioned() -> None:
    held = course([segment([row()])])

    assert headline(document(held)).endswith("0 of 1,000 packets lost.")
    assert [line.partition(":")[0] for line in figures_words(document(held))] == ["eager"]


def test_a_cause_of_an_hour_is_a_guess_unless_nobody_knows_one() -> None:
    by_cause = {"another thread": 620, "unknown": 300, "events were lost": 80}
    held = replace(course([segment([row()])]), causes=(CausesOfHour(3, 1_234, by_cause),))

    assert causes_rows(held) == [
        (
            "3:00",
            "lateness of 1,234 recorded packets: 62 % maybe another thread, 30 % unknown, 8 % "
            "events were lost",
        )
    ]


def test_an_extrapolation_says_what_its_interval_is() -> None:
    levels = {"10 h": (40_000_000, 25_000_000, 90_000_000)}

    said = beyond_words(Beyond(None, 60, 60_000_000_000, 2e6, 1e6, 0.1, 0.5, levels))

    assert "reached once on average is 40 ms in 10 h (95 % of the fit: 25 ms to 90 ms)." in said
    assert "From the slowest packets of 60 times 60 s (generalised extreme value, shape 0.1" in said


def test_an_extrapolation_of_an_older_taut_is_not_told_as_this_one_s() -> None:
    said = beyond_words(Beyond(None, levels_ns={"10 h": (40_000_000, 25_000_000, 90_000_000)}))

    assert "No extrapolation: that of an older taut was from recorded packets alone" in said


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, Analysis]:
    made = RunDirectory(
        make_run(tmp_path_factory.mktemp("soak") / "run", VARIANTS[:1], repetitions=1)
    )
    return made, analyse_run(made)


@pytest.mark.parametrize(
    ("n_rows", "n_open", "n_folded", "where"),
    [(24, 24, 0, None), (100, 24, 100, "below"), (2_001, 24, 0, "soak/*/rows.jsonl")],
)
def test_a_page_opens_with_the_worst_rows_and_has_no_more_than_a_page_can(
    run: tuple[RunDirectory, Analysis],
    n_rows: int,
    n_open: int,
    n_folded: int,
    where: str | None,
    tmp_path: Path,
) -> None:
    held = course([segment([row(n, max_ns=10**6 + n) for n in range(n_rows)])])
    both = replace(document(held), control=replace(held, device="control"))
    (run[0].path / SOAK_FILE).write_text(json.dumps(plain_object(both)))

    page = write_html([run], tmp_path / "report.html").read_text()

    section = page.partition('<section class="soak">')[2].partition("</section>")[0]
    folds = re.findall(r"<details.*?</details>", section, re.DOTALL)
    found = [part.count('<tr><th scope="row">') for part in (section, *folds)]
    assert found == [2 * (n_open + n_folded), *[n_folded] * 2 * (n_folded > 0)]
    said = f"The 24 rows with the slowest packets of {n_rows:,}; all of them: {where}."
    assert section.count(said) == 2 * (where is not None)
