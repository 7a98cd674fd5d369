"""What is said of a series of many runs."""

import re
from pathlib import Path

from taut.records.documents.trend import GroupOfRuns, SeriesOfTrend
from taut.report.trend import LEGEND, csit_words

MEASURING = Path(__file__).parents[2] / "docs" / "measuring.md"


def test_groups_of_jumpavg_begin_with_the_runs_that_have_a_median_above_zero() -> None:
    medians = (-5.0, 100.0, None, 0.0, 101.0, 200.0, 201.0)
    groups = (GroupOfRuns(0, 2, 100.5, 0.7), GroupOfRuns(2, 2, 200.5, 0.7))
    series = SeriesOfTrend("100 kpkt/s, 64 B", "pair", False, {"p50": medians}, None, (), groups)

    said = csit_words(series, [f"r{at}" for at in range(len(medians))])

    assert said == "CSIT's jumpavg: 100 ns from r1, 200 ns from r5."


def test_the_legend_has_the_false_steps_that_the_page_has() -> None:
    page = MEASURING.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (independent|with Pareto|correlated)[^|]*\| ([0-9.]+) %", page, re.M)
    of_hundred = {name: round(float(percent)) for name, percent in rows}
    words = {1: "one", 3: "three"}

    unchanged, spiking = (words[of_hundred[name]] for name in ("independent", "with Pareto"))

    assert f"about {unchanged} unchanged series in a hundred shows one, {spiking} where" in LEGEND
    assert of_hundred["correlated"] > of_hundred["with Pareto"]
    assert "more where the machine drifts" in LEGEND
