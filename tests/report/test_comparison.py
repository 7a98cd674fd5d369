"""What a reader of a comparison sees, in the terminal and in the report."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from taut.analysis.claims import compare_groups
from taut.analysis.compare import compare_runs
from taut.analysis.difference import Difference, Side, judge
from taut.records.documents.trial import TraceOfTrial
from taut.records.rundir import RunDirectory
from taut.report.comparison import LEGEND, differing_conditions, print_comparison, row_of
from taut.report.html import write_html


def printed(comparison, differing=(), *, terminal=False, width=100):
    out = io.StringIO()
    colours = "truecolor" if terminal else "auto"
    console = Console(file=out, width=width, force_terminal=terminal or None, color_system=colours)
    print_comparison(comparison, ("runs/a", "runs/b"), differing, console)
    return out.getvalue()


@pytest.fixture(scope="module")
def comparison(analysed):
    return compare_runs(analysed, analysed)


def test_verdict_comes_first_and_each_pair_has_a_table(comparison):
    lines = printed(comparison).splitlines()

    assert lines[0] == "Nothing is claimed of 2 runs each."
    assert lines[1:3] == ["A: runs/a", "B: runs/b"]
    assert sum(line.startswith("p99.9999 ") for line in lines) == len(comparison.pairs)
    assert "linux_bridge at 200 kpkt/s, 64 B" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_table_fits_the_terminal(comparison, width):
    lines = printed(comparison, width=width).splitlines()

    assert max(len(line) for line in lines) <= width
    assert not any("…" in line for line in lines)


def test_colour_only_on_a_terminal(comparison):
    assert "\x1b[" not in printed(comparison)
    assert "\x1b[" in printed(comparison, terminal=True)


def test_a_claim_and_what_cannot_be_claimed_look_different():
    of_a, of_b = ([middle + 4.0 * n for n in range(-3, 4)] for middle in (1000, 1200))
    evidence = compare_groups(of_a, of_b)
    sides = [Side(of[3], of, of, 500) for of in (of_a, of_b)]
    (claimed,) = judge([Difference("p50", *sides, evidence)])
    few = Difference("p50", *sides, compare_groups(of_a[:1], of_b[:1]))
    grey = Difference("p99.99", Side(1000, [], [], 3), Side(900, [], [], 9), None)

    assert [c.text for c in row_of(claimed)] == [
        "p50",
        "1 µs",
        "1.20 µs",
        "-20 %",
        "-21..-19 %",
        "slower",
    ]
    assert row_of(claimed)[-1].alert
    assert [c.text for c in row_of(few)][3:] == ["-20 %", "–", "too few runs"]
    assert all(c.dim for c in row_of(few)[1:])
    assert [c.text for c in row_of(grey)][3:] == ["+10 %", "–", "n above: 3"]
    assert all(c.dim for c in row_of(grey)[1:])


def test_conditions_that_differ_are_named(analysed):
    run, document = analysed

    class Other(RunDirectory):
        def manifest(self):
            return replace(run.manifest(), host={"kernel": "6.1.0-rt"}, started_utc="later")

    differing = differing_conditions(analysed, (Other(run.path), document))

    assert ("host.kernel", "6.1.0-made", "6.1.0-rt") in differing
    assert not any(name == "started" for name, _, _ in differing)
    assert differing_conditions(analysed, analysed) == []


def test_a_trace_beside_one_run_is_a_condition(analysed):
    run, document = analysed
    sides = [
        (run, replace(document, trials=tuple(replace(t, trace=of) for t in document.trials)))
        for of in (TraceOfTrial("continuous"), TraceOfTrial("off", "not asked for"))
    ]

    assert ("trace", "continuous", "off: not asked for") in differing_conditions(*sides)


def test_report_opens_with_the_comparison_and_has_its_figure(analysed, comparison, tmp_path):
    text = write_html([analysed, analysed], tmp_path / "r.html", comparison).read_text("utf-8")

    assert text.index("Nothing is claimed of 2") < text.index("At 100 kpkt/s") < text.index(LEGEND)
    assert '<figure id="improvement">' in text
    assert '<figure id="improvement-2">' in text
