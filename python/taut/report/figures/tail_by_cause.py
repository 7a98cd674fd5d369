"""The tail of each traced trial, coloured by what made its packets late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taut.analysis.explain.by_percentile import EVERY_SLOWEST, PER_DECADE
from taut.analysis.load import share_words
from taut.report.chart import Chart, alt, column_data, decades, time_axis, time_scale
from taut.report.nines import nines_axis, place_of, plotted_ranks
from taut.report.palette import cause_token
from taut.report.scene import Device, Scene

MOST_PANELS = 8

# Pixels, from the top of a panel down.
_TITLE = 30
_CURVE = 150
_BETWEEN = 30
_LINE = 17
_LEAST_BARS = 80
_BELOW = 34
# From the left.
_WORDS_AT = 22
_LEAST_WORDS = 40


@dataclass(frozen=True)
class _Panel:
    """One trial and where it is drawn; a layered chart has no panels, but its axes have ranges."""

    device: Device
    trial: Mapping[str, Any]
    top: int

    @property
    def tail(self) -> Mapping[str, Any]:
        """What results.json has for this figure."""
        found: Mapping[str, Any] = self.trial["explanation"]["by_percentile"]
        return found

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        """The causes that have packets of the tail, the most first."""
        return [c for c in self.trial["explanation"]["causes"] if c["n_packets"]]

    @property
    def curve(self) -> list[int]:
        """Where latency is drawn, as an axis wants it: bottom, top."""
        return [self.top + _TITLE + _CURVE, self.top + _TITLE]

    @property
    def bars(self) -> list[int]:
        """Where shares are drawn; as high as the list beside them needs."""
        top = self.curve[0] + _BETWEEN
        return [top + max(_LEAST_BARS, _LINE * len(self.causes)), top]

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.bars[0] + _BELOW


class TailByCause:
    """A percentile curve a traced trial, its tail coloured by cause; shares of causes below."""

    id = "tail_by_cause"
    question = "What made the slow packets slow?"
    reading = (
        "A panel for each traced trial, repetitions apart. Above, the curve of all its packets; "
        "each dot is one packet of the tail in the colour of its verdict: the "
        f"{EVERY_SLOWEST} slowest, before them {PER_DECADE} a decade. Below, every packet of the "
        "tail: the share of each cause in each stretch of percentiles, the number of packets "
        "above it; the list has the shares of the whole tail. A cause has the same colour "
        f"everywhere. Of more than {MOST_PANELS} trials, each device's repetition with the slowest "
        f"packet, {MOST_PANELS} at most."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """Draw the panels one below the other, on one axis of nines."""
        panels = _panels(scene)
        if not panels:
            return None
        curves = [_curve_rows(panel) for panel in panels]
        most = max(float(row["one_in"]) for rows in curves for row in rows)
        x = nines_axis(most, grid=False)
        times = [float(row["latency_us"]) for rows in curves for row in rows]
        colour = _colour(panels)
        layers: list[alt.Chart | alt.LayerChart] = []
        for panel, rows in zip(panels, curves, strict=True):
            layers.append(_grid_layer(panel, x, most))
            layers += _word_layers(panel, colour, most)
            layers.append(_curve_layer(panel, rows, x, colour, (min(times), max(times))))
            layers.append(_bar_layer(panel, x, colour))
        chart: Chart = (
            alt.LayerChart(layer=layers)
            .resolve_scale(y="independent")
            .properties(height=panels[-1].end - _BELOW)
        )
        return chart


def _panels(scene: Scene) -> list[_Panel]:
    chosen = [(d, t) for d in scene.devices for t in d.trials if _is_drawn(t)]
    if len(chosen) > MOST_PANELS:
        by_device = [[(d, t) for d, t in chosen if d is device] for device in scene.devices]
        worst = [max(of, key=lambda pair: _slowest(pair[1])) for of in by_device if of]
        chosen = worst[:MOST_PANELS]
    panels: list[_Panel] = []
    for device, trial in chosen:
        panels.append(_Panel(device, trial, panels[-1].end if panels else 0))
    return panels


def _is_drawn(trial: Mapping[str, Any]) -> bool:
    """Whether it was traced, by a taut that kept percentiles, and had a tail."""
    explanation = trial.get("explanation") or {}
    return bool((explanation.get("by_percentile") or {}).get("bins"))


def _slowest(trial: Mapping[str, Any]) -> int:
    return int(trial["latency_ns"]["max"] or 0)


def _colour(panels: Sequence[_Panel]) -> alt.Color:
    """One scale for all; the lists in the panels are its legend."""
    names = list(dict.fromkeys(c["cause"] for panel in panels for c in panel.causes))
    scale = alt.Scale(domain=names, range=[cause_token(name) for name in names])
    return alt.Color("cause:N", scale=scale, legend=None)


def _curve_rows(panel: _Panel) -> list[dict[str, Any]]:
    """The percentile curve of this trial alone: exact points, as percentiles.py draws them."""
    values, n = replace(panel.device, trials=[panel.trial]).counts("latency")
    upto = np.cumsum(n)
    total = int(upto[-1])
    ranks = plotted_ranks(total)
    at = values[np.searchsorted(upto, ranks)]
    return [
        {"one_in": total / (total - rank + 1), "latency_us": value / 1e3}
        for rank, value in zip(ranks.tolist(), at.tolist(), strict=True)
    ]


def _grid_layer(panel: _Panel, x: alt.X, most: float) -> alt.Chart:
    """Lines at the nines through both parts; the axis's own would end with one of the scales."""
    lines = alt.InlineData(values=[{"one_in": nine} for nine in decades(1, most) if nine < most])
    rules: alt.Chart = (
        alt.Chart(lines)
        .mark_rule(color="@grid")
        .encode(x=x, y=alt.value(panel.curve[1]), y2=alt.value(panel.bars[0]))
    )
    return rules


def _curve_layer(
    panel: _Panel,
    rows: list[dict[str, Any]],
    x: alt.X,
    colour: alt.Color,
    times: tuple[float, float],
) -> alt.LayerChart:
    """One axis for the line and the dots on it."""
    scale = alt.Scale(**{**time_scale(*times, 0.8, 1.3).to_dict(), "range": panel.curve})
    y = alt.Y(
        "latency_us:Q", scale=scale, axis=_own(time_axis("service latency", *times), grid=True)
    )
    packets = panel.tail["packets"]
    titles = {c["cause"]: c["title"] for c in panel.causes}
    dots = [
        {"one_in": one_in, "latency_us": ns / 1e3, "cause": cause, "title": titles[cause]}
        for one_in, ns, cause in zip(
            packets["one_in"], packets["latency_ns"], packets["cause"], strict=True
        )
    ]
    line = alt.Chart(column_data(rows)).mark_line(
        interpolate="step-before", strokeWidth=1.5, color="@muted", opacity=0.7
    )
    marks = alt.Chart(column_data(dots)).mark_point(
        filled=True, size=26, opacity=0.9, aria=False, strokeWidth=0
    )
    tooltip = [
        alt.Tooltip("title:N", title="cause"),
        alt.Tooltip("one_in:Q", format=",.1f", title="one packet in"),
        alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
    ]
    found: alt.LayerChart = alt.LayerChart(
        layer=[line.encode(x=x, y=y), marks.encode(x=x, y=y, color=colour, tooltip=tooltip)]
    )
    return found


def _own(axis: alt.Axis, *, grid: bool) -> alt.Axis:
    """What only the first of several axes would have: the left side, and its lines."""
    axis["orient"], axis["grid"] = "left", grid
    return axis


def _bar_layer(panel: _Panel, x: alt.X, colour: alt.Color) -> alt.LayerChart:
    """Stacked shares, each bar as wide as its stretch of percentiles."""
    scale = alt.Scale(domain=[0, 1], nice=False, range=panel.bars)
    axis = _own(alt.Axis(title="share by cause", format="%", values=[0, 0.5, 1]), grid=False)
    y = alt.Y("low:Q", scale=scale, axis=axis)
    bars = alt.Chart(column_data(_stacked(panel))).mark_rect(stroke="@surface", strokeWidth=1)
    tooltip = [
        alt.Tooltip("title:N", title="cause"),
        alt.Tooltip("stretch:N", title="percentiles"),
        alt.Tooltip("packets:Q", format=",", title="packets"),
        alt.Tooltip("share:Q", format=".1%", title="share of the stretch"),
    ]
    counts = [
        {"one_in": float(np.sqrt(a * b)), "n": f"{row['packets']:,}"}
        for row in panel.tail["bins"]
        for a, b in [row["one_in"]]
    ]
    numbers = alt.Chart(alt.InlineData(values=counts)).mark_text(
        fontSize=11, color="@muted", baseline="bottom"
    )
    found: alt.LayerChart = alt.LayerChart(
        layer=[
            bars.encode(x=x, x2="until:Q", y=y, y2="high:Q", color=colour, tooltip=tooltip),
            numbers.encode(x=x, y=alt.value(panel.bars[1] - 3), text="n:N"),
        ]
    )
    return found


def _stacked(panel: _Panel) -> list[dict[str, Any]]:
    """From above, causes in the order of the list beside: one keeps its place from bar to bar."""
    rows = []
    for of in panel.tail["bins"]:
        high = 1.0
        for cause in panel.causes:
            n = of["by_cause"].get(cause["cause"], 0)
            share = n / of["packets"]
            if n:
                rows.append(
                    {
                        "one_in": float(of["one_in"][0]),
                        "until": float(of["one_in"][1]),
                        "low": max(high - share, 0.0),
                        "high": high,
                        "cause": cause["cause"],
                        "title": cause["title"],
                        "stretch": f"{of['from']} to {of['to']}",
                        "packets": n,
                        "share": share,
                    }
                )
            high -= share
    return rows


def _word_layers(panel: _Panel, colour: alt.Color, most: float) -> list[alt.Chart]:
    """The trial's name above, and the causes with their share of its tail beside the bars.

    Where the page is narrow the words are cut, not drawn over the bars.
    """
    bars_at = place_of(panel.tail["bins"][0]["one_in"][0], most)
    room = alt.ExprRef(expr=f"max({_LEAST_WORDS}, {bars_at:.3f} * width - {_WORDS_AT + 4})")
    e = panel.trial["explanation"]
    name = f"{panel.device.label}, repetition {panel.trial['repetition']}"
    title = {"text": f"{name}: {e['tail_packets']:,} packets above {e['over']}"}
    first = panel.bars[1] + _LINE / 2
    lines = [
        {
            "at": first + _LINE * i,
            "cause": cause["cause"],
            "text": f"{share_words(cause['tail_share'])}  {cause['title']}",
        }
        for i, cause in enumerate(panel.causes)
    ]
    of_lines = alt.Chart(alt.InlineData(values=lines))
    at = alt.Y("at:Q", scale=None, axis=None)
    return [
        alt.Chart(alt.InlineData(values=[title]))
        .mark_text(
            align="left",
            baseline="top",
            fontWeight="bold",
            color="@ink",
            limit=alt.ExprRef(expr="width"),
        )
        .encode(x=alt.value(0), y=alt.value(panel.top + 2), text="text:N"),
        of_lines.mark_point(shape="square", filled=True, size=90, opacity=1).encode(
            x=alt.value(12), y=at, color=colour
        ),
        of_lines.mark_text(align="left", baseline="middle", color="@ink", limit=room).encode(
            x=alt.value(_WORDS_AT), y=at, text="text:N"
        ),
    ]
