"""A plug-in's figure that fails is left out with one line, wherever it fails."""

import pytest

from taut.core.plugins import PluginWarning
from taut.report.chart import alt, column_data
from taut.report.figure import Guarded


class Made:
    id, question, reading = "made", "What?", "So."

    def __init__(self, draw):
        self.draw = draw


def fails(_):
    raise RuntimeError("no")


def of_no_type(_):
    """An error of the chart itself: it shows only when the chart is written."""
    return alt.Chart(column_data([{"a": 1}])).mark_line().encode(x="nowhere")


@pytest.mark.parametrize("draw", [fails, of_no_type, lambda _: "no chart"])
def test_it_is_left_out_with_one_line(draw):
    with pytest.warns(PluginWarning, match="^figure made: left out: "):
        assert Guarded(Made(draw)).draw(None) is None


def test_what_can_be_drawn_is_given():
    chart = alt.Chart(column_data([{"a": 1}])).mark_line().encode(x="a:Q")

    assert Guarded(Made(lambda _: chart)).draw(None) is chart
    assert Guarded(Made(lambda _: None)).draw(None) is None
