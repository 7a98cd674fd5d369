"""The index of a folder of runs: what each row says, and where it leads."""

import os
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from taut.analysis.trust import split_trust, trust_rank
from taut.report.found_runs import Found
from taut.report.index import write_index

VERDICT = (
    "At 100 kpkt/s, 64 B: eager median 1.03 \u00b5s. Trust percentiles as far as p99: no luck."
)


def found(folder: Path, name: str, **others: object) -> Found:
    run = folder / name
    run.mkdir(parents=True)
    values = {"devices": ("eager",), "n_whole": 1, "n_planned": 1, "verdict": VERDICT}
    time = "2026-01-01T23:30:00-02:00"
    return Found(str(run), time, "made", **(values | others))  # type: ignore[arg-type]


def test_a_row_says_what_when_where_and_how_far_to_trust_it(tmp_path: Path) -> None:
    run = found(tmp_path / "runs", "first", host="Made-up CPU, Linux 6.1")

    page = write_index(tmp_path / "runs", [run], tmp_path / "index.html").read_text()

    text = unescape(re.sub("<[^>]+>", "", page.split("<tbody>")[1].split("</tbody>")[0]))
    words = " ".join(text.split())
    assert words.startswith("first2026-01-02 01:30made: eagerAt 100 kpkt/s, 64 B: eager median")
    assert "Trust percentiles as far as p99: no luck.Made-up CPU, Linux 6.1" in words
    assert "<a href" not in page.split("<tbody>")[1]
    assert "http" not in page.replace("http://www.w3.org/", "")


def test_trust_without_a_reason_ends_there(tmp_path: Path) -> None:
    run = found(tmp_path, "first", verdict="A: b. Trust percentiles as far as p99.9999.")

    page = write_index(tmp_path, [run], tmp_path / "index.html").read_text()

    assert "Trust percentiles as far as p99.9999</span></td>" in page


def test_a_link_leads_from_the_index_to_the_report(tmp_path: Path) -> None:
    run = found(tmp_path / "runs", 'a "b" & <c> #1 %20 \udcff')
    report = Path(run.run) / "report.html"
    report.touch()

    index = write_index(tmp_path / "runs", [run], tmp_path / "pages" / "index.html")
    page = index.read_text(errors="surrogateescape")

    [link] = re.findall('<th scope="row"[^>]*><a href="([^"]*)">', page)
    led_to = os.fsdecode(unquote_to_bytes(unescape(link)))
    assert (tmp_path / "pages" / led_to).resolve() == report.resolve()
    assert "<c>" not in page


def test_an_empty_folder_has_an_index_too(tmp_path: Path) -> None:
    page = write_index(tmp_path, [], tmp_path / "index.html").read_text()

    assert "0 runs." in page
    assert "<table" not in page


@pytest.mark.parametrize(
    ("verdict", "trust"),
    [
        (VERDICT, "Trust percentiles as far as p99"),
        ("A: b. Do not trust these numbers: the sums.", "Do not trust these numbers"),
        (
            "A: b. No proof, and trust the medians alone: c: d.",
            "No proof, and trust the medians alone",
        ),
        ("A: b. Trust percentiles as far as p99.9999.", "Trust percentiles as far as p99.9999"),
        ("Nothing was measured: the run has no trials.", ""),
    ],
)
def test_trust_is_the_verdicts_second_sentence(verdict: str, trust: str) -> None:
    result, said, why = split_trust(verdict)

    assert said == trust
    because = f": {why}" if why else "."
    assert verdict == (f"{result} {said}{because}" if said else result)


def test_trust_is_in_order() -> None:
    words = [
        "",
        "Do not trust even the medians",
        "No proof, and trust the medians alone",
        "Trust the medians alone",
        "Trust percentiles as far as p90",
        "No proof, and trust percentiles as far as p99",
        "Trust percentiles as far as p99",
        "Trust percentiles as far as p99.99",
    ]

    ranks = [trust_rank(said) for said in words]
    assert ranks == sorted(set(ranks))
