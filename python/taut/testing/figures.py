"""What every figure must do: ask a question, draw a small chart in colours of the theme."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from taut.analysis.load import loads_in_order
from taut.analysis.results import analyse_run
from taut.records.documents.json_form import JsonObject
from taut.records.rundir import RunDirectory
from taut.report.chart import Chart, as_spec, write_images
from taut.report.figure import Figure
from taut.report.palette import LIGHT
from taut.report.scene import Scene, make_scenes

_MOST_LETTERS = 800_000
"""Of a chart's specification: a report is opened in a browser."""


def scene_of(run: Path) -> Scene:
    """Analyse a run directory and give what figures of its main load are drawn from."""
    directory = RunDirectory(run)
    analysis = analyse_run(directory)
    return make_scenes([(directory, analysis)], loads_in_order(analysis.variants))[0]


def conforms(figure: Figure, scene: Scene, folder: Path) -> None:
    """Ask all that follows of a scene that it can draw; images are written into `folder`."""
    asks_and_says_how_to_read_it(figure)
    draws_a_small_chart_in_colour_tokens(figure, scene)
    says_only_what_vega_lite_knows(figure, scene)
    writes_images(figure, scene, folder)


def asks_and_says_how_to_read_it(figure: Figure) -> None:
    """Its caption is a question, and sentences say how to read the answer."""
    assert figure.question.endswith("?"), f"{figure.id}: {figure.question!r} is no question"
    assert figure.reading.endswith("."), f"{figure.id}: {figure.reading!r} is no sentence"


def draws_a_small_chart_in_colour_tokens(figure: Figure, scene: Scene) -> None:
    """It is small, and its colours are tokens of report/palette.py, which every theme has."""
    text = json.dumps(_spec(figure, scene))
    size = len(text)
    assert size < _MOST_LETTERS, f"{figure.id}: {size} letters, {_MOST_LETTERS} at most"
    for token, colour in LIGHT.items():
        assert colour not in text, f"{figure.id}: {colour} of one theme; say {token}"


def says_only_what_vega_lite_knows(figure: Figure, scene: Scene) -> None:
    """Raises where it does not; taut itself does not look."""
    _drawn(figure, scene).to_dict(validate=True)


def writes_images(figure: Figure, scene: Scene, folder: Path) -> None:
    """It is drawn without a browser, too, with every token replaced by a colour."""
    write_images({figure.id: _spec(figure, scene)}, folder)
    svg, png = folder / f"{figure.id}.svg", folder / f"{figure.id}.png"
    tag = ET.parse(svg).getroot().tag  # noqa: S314 - it was written by the line above
    assert tag.endswith("svg"), f"{svg}: its root is {tag}"
    assert "@device" not in svg.read_text(), f"{svg}: a token of a colour is left"
    assert png.read_bytes().startswith(b"\x89PNG"), f"{png}: no PNG"


def _drawn(figure: Figure, scene: Scene) -> Chart:
    chart = figure.draw(scene)
    assert chart is not None, f"{figure.id}: it has nothing to draw of this scene"
    return chart


def _spec(figure: Figure, scene: Scene) -> JsonObject:
    return as_spec(_drawn(figure, scene))
