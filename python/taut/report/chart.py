"""The only file that imports the plotting library: one definition, three outputs.

A figure is an Altair chart.  From it come the specification the HTML report draws in the browser,
and where asked an SVG and a PNG; vega.py draws these.  Figures use Altair through `alt` here, so
that another library means another version of this file and of figures/, and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
from altair.utils.schemapi import disable_debug_mode

from taut.records.documents.json_form import Json, JsonObject
from taut.report.vega import draw_images, keep_script, script_of

__all__ = [
    "VEGALITE",
    "Chart",
    "Mark",
    "alt",
    "as_spec",
    "at_x",
    "at_y",
    "at_y2",
    "colour_scale",
    "column_data",
    "decades",
    "device_colour",
    "is_wide",
    "javascript",
    "layered",
    "time_axis",
    "time_scale",
    "write_images",
]

Chart = alt.LayerChart | alt.Chart

Mark: TypeAlias = Mapping[str, str | int | float | bool]
"""One drawn mark: its columns by name; all marks of a chart have the same columns."""

# Places in pixels. Altair does not say that they are functions; for its own, alt.value, it makes a
# table of all its classes at each call.
at_x: Callable[[float], alt.XValue] = alt.XValue
at_y: Callable[[float], alt.YValue] = alt.YValue
at_y2: Callable[[float], alt.Y2Value] = alt.Y2Value

VEGALITE: str = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
"""The version whose specifications these are, as `6.1`."""

# To hold each part and then the whole against Vega-Lite's schema takes as long again as to draw:
# tests do it (tests/report/figures).
disable_debug_mode()

_LINEAR_ROOM = 0.05
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

# Axis labels in the unit that fits, from a value in microseconds.
LATENCY_LABEL = (
    "datum.value == 0 ? '0' : abs(datum.value) >= 1e6 ? format(datum.value / 1e6, '~g') + ' s'"
    " : abs(datum.value) >= 1e3 ? format(datum.value / 1e3, '~g') + ' ms'"
    " : abs(datum.value) >= 1 ? format(datum.value, '~g') + ' µs'"
    " : format(datum.value * 1e3, '~g') + ' ns'"
)

# A share, with the space between number and unit that the page has.
SHARE_LABEL = "format(100 * datum.value, '~r') + ' %'"

_CONFIG: JsonObject = {
    "background": "@surface",
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "@muted",
        "titleColor": "@muted",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": "@grid",
        "domainColor": "@axis",
        "tickColor": "@axis",
    },
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "labelColor": "@ink",
        "titleColor": "@muted",
        "labelFontSize": 12,
        "labelLimit": 340,
        "title": None,
        "symbolStrokeWidth": 3,
        "layout": {"top": {"anchor": "start", "direction": "vertical", "margin": 4}},
        "symbolBaseFillColor": "@muted",
        "symbolBaseStrokeColor": "@muted",
    },
    "text": {"color": "@ink", "fontSize": 12},
    "rule": {"color": "@muted"},
}


def is_wide(least: float, greatest: float) -> bool:
    """Whether times want a log axis: over more than a decade, and all above zero."""
    return 0 < 10 * least < greatest


def time_scale(
    least_us: float, greatest_us: float, below: float, above: float, *, wide: bool | None = None
) -> alt.Scale:
    """Scale an axis of times with room on both sides: factors where it is logarithmic.

    `wide`: whether it is, where something else depends on it, too.
    """
    if is_wide(least_us, greatest_us) if wide is None else wide:
        domain = [least_us * below, greatest_us * above]
        return alt.Scale(type="log", domain=domain, nice=False)
    room = max((greatest_us - least_us) * _LINEAR_ROOM, 1e-3)
    domain = [least_us - room, greatest_us + room]
    return alt.Scale(type="linear", domain=domain, nice=False, zero=False)


def time_axis(
    title: str, least_us: float, greatest_us: float, *, wide: bool | None = None
) -> alt.Axis:
    """Label an axis of times in the unit that fits; a logarithmic one has a label each decade."""
    wide = is_wide(least_us, greatest_us) if wide is None else wide
    more: dict[str, Any] = {"values": decades(least_us, greatest_us)} if wide else {"tickCount": 6}
    return alt.Axis(title=title, labelExpr=LATENCY_LABEL, labelFlush=False, **more)


def device_colour(colours: Mapping[str, str]) -> alt.Color:
    """Colour by device, whose tokens by label these are; the legend's marks are always solid."""
    return alt.Color(
        "device:N",
        scale=colour_scale(colours),
        legend=alt.Legend(symbolType="stroke", symbolOpacity=1, symbolSize=200),
    )


def colour_scale(colours: Mapping[str, str]) -> alt.Scale:
    """Scale labels to the tokens of their colours."""
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def decades(least: float, greatest: float) -> list[float]:
    """Powers of ten that cover a positive range."""
    low, high = f"{least:e}".split("e")[1], f"{greatest:e}".split("e")[1]
    return [10.0**exponent for exponent in range(int(low), int(high) + 2)]


def column_data(rows: Sequence[Mark]) -> alt.Data:
    """Rows as inline CSV: a third of the size of JSON objects, read by the same code."""
    if not rows:
        return alt.InlineData(values=[])
    names = list(rows[0])
    lines = [",".join(names)]
    lines += [",".join(_cell(row[name]) for name in names) for row in rows]
    # Say the types: a device named "12" must not become a number.
    kinds: dict[str, str] = {name: _kind(rows[0][name]) for name in names}
    data_format = alt.CsvDataFormat(type="csv", parse=kinds)
    return alt.InlineData(values="\n".join(lines), format=data_format)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    if any(mark in text for mark in ',"\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def layered(*layers: Chart, height: int, **properties: Any) -> Chart:
    """Put charts on top of one another."""
    # Not by .properties: each such call copies every layer in it three times.
    chart: Chart = alt.LayerChart(layer=list(layers), height=height, **properties)
    return chart


def as_spec(chart: Chart) -> dict[str, Json]:
    """The Vega-Lite specification, its colours still tokens, as wide as its container."""
    spec: dict[str, Json] = dict(chart.to_dict(validate=False))
    spec["config"] = dict(_CONFIG)
    spec["width"] = "container"
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def write_images(specs: Mapping[str, JsonObject], folder: Path) -> None:
    """Write NAME.svg and NAME.png of every specification in the light theme."""
    draw_images(specs, folder, VEGALITE)


@cache
def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that needs no network."""
    return script_of(VEGALITE).replace("</script", "<\\/script")


if __name__ == "__main__":
    keep_script(VEGALITE)
