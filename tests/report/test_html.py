import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from taut.explain.grades import GRADES
from taut.report.html import write_html


class Page(HTMLParser):
    """Collects what a page loads and the words it shows."""

    def __init__(self):
        super().__init__()
        self.loads, self.words, self.hidden = [], [], 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "style"):
            self.hidden += 1
        if tag in ("script", "link", "img", "iframe") and (values.get("src") or values.get("href")):
            self.loads.append(values.get("src") or values.get("href"))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.hidden -= 1

    def handle_data(self, data):
        if not self.hidden:
            self.words.append(data)


@pytest.fixture(scope="module")
def report(analysed, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "sub" / "report.html"
    return write_html([analysed], out, images=True)


@pytest.fixture(scope="module")
def page(report):
    page = Page()
    page.feed(report.read_text(encoding="utf-8"))
    return page


def test_report_needs_no_network(report, page):
    outside = [src for src in page.loads if not src.startswith(("figures/", "data:"))]

    assert outside == []
    assert report.stat().st_size < 5_000_000


def test_report_opens_with_the_verdict_and_the_floor_stands_first(page):
    words = " ".join(" ".join(page.words).split())

    verdict = words.index("At 100 kpkt/s")
    table = words.index("p99.99")
    floor, eager = words.index("floor", table), words.index("eager", table)
    assert verdict < table < floor < eager


def test_report_shows_failures_counters_and_conditions(page):
    words = " ".join(page.words)

    assert "killed by SIGSEGV" in words
    assert "oops" in words
    assert "Made-up CPU" in words
    assert "RFC 4689" in words
    assert "NO" not in words.split()  # every sum reconciles


def test_a_traced_trial_tells_its_causes_and_episodes(report, page):
    text = report.read_text(encoding="utf-8")
    words = " ".join(" ".join(page.words).split())

    assert "Why packets were late" in words
    assert "another thread ran" in words
    assert re.search(r'<details class="episode"><summary>Packet \d+', text)
    assert "the audit predicted this: R24 FAIL" in words
    assert "R22 n/a" in words
    assert f"B: {GRADES['B']}" in words
    assert all(f"{grade} {legend}" in words for grade, legend in GRADES.items())
    # Parts of the gap without JavaScript: drawn by the page itself, in a colour it defines.
    drawn = set(re.findall(r"fill:var\((--cause-[a-z-]+)\)", text))
    assert "--cause-preemption" in drawn
    assert all(f"{name}:#" in text for name in drawn)


def test_every_figure_lies_beside_as_svg_and_png(report):
    drawn = set(re.findall(r'<figure id="([^"]+)"', report.read_text(encoding="utf-8")))

    assert {"percentiles", "tail_by_cause", "histogram", "rate", "percentiles-2"} <= drawn
    for suffix in (".svg", ".png"):
        assert drawn == {p.stem for p in (report.parent / "figures").glob(f"*{suffix}")}


def test_figures_are_no_files_unless_asked_for(analysed, tmp_path):
    text = write_html([analysed], tmp_path / "r.html").read_text(encoding="utf-8")

    assert "<figure id=" in text
    assert "figures/" not in text
    assert not (tmp_path / "figures").exists()


def test_names_cannot_inject_markup(analysed, tmp_path):
    run, document = analysed
    evil = "</script><script>alert(1)</script>"
    rows = [
        replace(row, device=replace(row.device, dut=evil)) if row.device.dut == "eager" else row
        for row in document.variants
    ]
    changed = replace(document, variants=tuple(rows), verdict=f"{evil} `taut <b>` makes one")

    text = write_html([(run, changed)], tmp_path / "r.html").read_text(encoding="utf-8")

    assert "<script>alert" not in text
    assert "<code>taut &lt;b&gt;</code> makes one" in text


def test_a_run_without_numbers_still_has_a_report(analysed, tmp_path):
    run, document = analysed
    failed = [t for t in document.trials if not t.is_whole]
    empty = replace(document, variants=(), trials=tuple(failed), verdict="Nothing was measured.")

    text = write_html([(run, empty)], tmp_path / "r.html").read_text(encoding="utf-8")

    assert "Nothing was measured." in text
    assert "killed by SIGSEGV" in text


@pytest.mark.parametrize("every", [False, True])
def test_episodes_that_nobody_looked_for_are_not_said_to_be_none(analysed, tmp_path, every):
    run, analysis = analysed
    whole = [trial for trial in analysis.trials if trial.figures is not None]
    unknown = whole if every else whole[:1]
    trials = [
        replace(trial, figures=replace(trial.figures, episodes=None)) if trial in unknown else trial
        for trial in analysis.trials
    ]

    out = write_html([(run, replace(analysis, trials=tuple(trials)))], tmp_path / "report.html")

    page = Page()
    page.feed(out.read_text(encoding="utf-8"))
    words = " ".join(" ".join(page.words).split())
    n = len(unknown)
    assert ("episodes in all" in words) == (not every)
    assert f"Not searched: {n} trial{'s' if n > 1 else ''} in which not every packet" in words


@pytest.mark.parametrize(("n_states", "is_told"), [(12, False), (13, True)])
def test_colours_that_two_rows_share_are_told(n_states, is_told, analysed, tmp_path):
    run, document = analysed
    floor = next(row for row in document.variants if row.is_floor)
    variants = tuple(
        replace(floor, device=replace(floor.device, host=f"state {n}")) for n in range(n_states)
    )

    page = write_html([(run, replace(document, variants=variants))], tmp_path / "report.html")

    said = "There are fewer colours than rows: 2 of 13 share one with another in the figures"
    assert (said in page.read_text()) is is_told
