"""What a browser shows of reports, from a phone to a wide screen, in light and in dark."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from browser import WIDTHS, dom_of, look, needs_browser, wrong_in
from made_documents import made_analysis, made_result, made_variant
from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.compare import compare_runs
from taut.analysis.pairing import AnalysedRun
from taut.analysis.results import analyse_run
from taut.analysis.trend import trend_of
from taut.records.documents.trend import ConditionChanged, RunOfTrend
from taut.records.rundir import RunDirectory
from taut.report.found_runs import find_runs
from taut.report.html import write_html
from taut.report.index import write_index
from taut.report.trend import Changes
from taut.report.trend_page import write_trend

pytestmark = needs_browser

FAULTS = """<!doctype html><html><body style="margin: 0; background: #fff; color: #000">
<h1>Faults</h1><h3>one level is missing</h3><a href="#nowhere">nowhere</a>
<p style="position: absolute; top: 300px">first words</p>
<p style="position: absolute; top: 304px">second words</p>
<div style="position: absolute; top: 400px; width: 90px; overflow: hidden; white-space: nowrap">
words that are too long for it</div>
<p style="position: absolute; top: 500px; color: #999">pale words</p>
<svg style="position: absolute; top: 600px" role="img"><text y="20">a label that is …</text></svg>
<table style="position: absolute; top: 800px; height: 2000px"><caption>a table</caption>
<thead><tr><th>its head</th></tr></thead><tbody><tr><td>its body</td></tr></tbody></table>
</body></html>"""


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """Of the same two devices, the second slower, named as taut names runs."""
    folder = tmp_path_factory.mktemp("runs")
    return [
        made(
            folder / f"first-look-20261122-20301{n}", MadeTrial(n_packets=5_000, base_ns=900.0 * n)
        )
        for n in (1, 2)
    ]


def made(path: Path, trial: MadeTrial):
    variants = [MadeVariant(name, "taut_forward", trial) for name in ("eager", "buffered")]
    run = RunDirectory(make_run(path, tuple(variants), repetitions=2))
    return run, analyse_run(run)


def captured(path: Path):
    trial = MadeTrial(n_cold=0, n_duplicates=0, n_orphans=0, generator_gap=None)
    variant = MadeVariant("capture", "capture", trial, "capture")
    run = RunDirectory(make_run(path, (variant,), repetitions=1))
    return run, analyse_run(run)


def over_time(out: Path) -> Path:
    """Forty runs of a device whose median steps, and the condition that changed with it."""
    names = [f"nightly-{night:03}" for night in range(40)]
    levels = [1000 + night % 7 + 300 * (night >= 20) for night in range(40)]
    runs = [made_run_of(name, level) for name, level in zip(names, levels, strict=True)]
    told = [RunOfTrend(name, f"runs/{name}", "", ()) for name in names]
    changed = ConditionChanged("taut", "0.1.0 (0123456789ab)", "0.2.0 (ba9876543210, modified)")
    told[20] = replace(told[20], changed=(changed,))
    write_trend(trend_of(runs, names), Changes(told, ["notes", "energy"]), out)
    return out


def made_run_of(name: str, p50_ns: int) -> AnalysedRun:
    latency = {"p50": p50_ns, "p99": 3 * p50_ns}
    trial = made_result(latency_ns=latency)
    row = made_variant(trials=[trial.name], latency_ns=latency)
    return RunDirectory(Path(name)), made_analysis((trial,), (row,))


@pytest.fixture(params=["a run", "captures", "a comparison", "two runs", "a trend"])
def report(request, tmp_path):
    out = tmp_path / "report.html"
    if request.param == "a run":
        return write_html([request.getfixturevalue("analysed")], out)
    if request.param == "captures":
        return write_html([captured(tmp_path / "captured")], out)
    runs = request.getfixturevalue("two_runs")
    if request.param == "a trend":
        return over_time(out)
    return write_html(runs, out, compare_runs(*runs) if request.param == "a comparison" else None)


def test_nothing_lies_over_anything_or_is_cut_or_pale(report, tmp_path):
    wrong = wrong_in(report, tmp_path)

    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def index(two_runs):
    """Of two runs, one that is not analysed and one that is damaged; one report is missing."""
    folder = two_runs[0][0].path.parent
    write_html(two_runs[:1], two_runs[0][0].path / "report.html")
    make_run(folder / "raw", (MadeVariant("eager", "taut_forward", MadeTrial()),), repetitions=1)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "manifest.json").write_text("{")
    return write_index(folder, list(find_runs(folder)), folder / "index.html")


def test_the_index_of_runs_too(index, tmp_path):
    wrong = wrong_in(index, tmp_path, lines_least=30, charts_least=0)

    assert not wrong, "\n".join(wrong)


SORT = """<script>
const order = () => [...document.querySelectorAll("tbody th")].map((head) => head.textContent);
const said = [order()];
for (const times of [1, 2]) {
	[...document.querySelectorAll(".sort button")].find((b) => b.dataset.name === "run").click();
	said.push(order(), [...document.querySelectorAll("thead th")].map((head) => head.ariaSort));
}
document.body.insertAdjacentHTML("beforeend", `<pre id="seen">${JSON.stringify(said)}</pre>`);
</script>"""


def test_the_index_is_sorted_by_a_column_and_back(index, tmp_path):
    names = ["damaged", "first-look-20261122-203011", "first-look-20261122-203012", "raw"]
    (tmp_path / "sorted.html").write_text(index.read_text() + SORT)

    said = re.findall('<pre id="seen">(.*?)</pre>', dom_of(tmp_path / "sorted.html", tmp_path))[-1]

    first, down, marked, up, marked_again = json.loads(said)
    assert sorted(first) == up == names
    assert down == names[::-1]
    assert (marked[0], marked_again[0]) == ("descending", "ascending")


def test_what_is_wrong_is_seen(tmp_path):
    page = tmp_path / "faults.html"
    page.write_text(FAULTS)

    found = look(page, tmp_path)

    assert len(found) == 2 * len(WIDTHS)
    for seen in found:
        assert seen["overlaps"] == ["first words | second words"]
        assert seen["cut"] == ["words that are too long for it", "a label that is …"]
        assert seen["pale"] == ["pale words"]
        assert (seen["skipped"], seen["nameless"]) == (1, 1)
        assert seen["gone"] == ["a table"]
        assert seen["dead"] == ["#nowhere"]
