"""The tail of each traced trial, coloured by what made its packets late."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.analysis.load import share_words
from taut.explain.grades import count_guesses, title_words
from taut.explain.tell.by_percentile import EVERY_SLOWEST, PER_DECADE
from taut.records.documents.explanation import (
    ByPercentile,
    CauseDocument,
    ExplanationDocument,
    Stretch,
)
from taut.records.documents.results import TrialResult
from taut.report.chart import (
    SHARE_LABEL,
    Chart,
    Mark,
    alt,
    at_x,
    at_y,
    at_y2,
    column_data,
    decades,
    layered,
    time_axis,
    time_scale,
)
from taut.report.nines import curve_points, nines_axis
from taut.report.palette import cause_token
from taut.report.scene import Device, Scene

MOST_PANELS = 8

# Pixels, from the top of a panel down.
_LINE = 17
_ABOVE = 14
_CURVE = 150
_BETWEEN = 30
_BARS = 60
_BELOW = 40
# From the left: words begin where the axis' labels do.
_LEFT = -44

_LEAST_SHARE = 0.01
"""Causes with a smaller share of the tail are shown together, without names."""

_PLAIN: Mapping[str, Any] = {"stroke": "@surface", "strokeWidth": 1}
_PALE: Mapping[str, Any] = {"fillOpacity": 0.25, "strokeWidth": 1.2, "strokeDash": [3, 2]}


@dataclass(frozen=True)
class _Panel:
    """One trial and where it is drawn; a layered chart has no panels, but its axes have ranges."""

    device: Device
    trial: TrialResult
    top: int

    @property
    def explanation(self) -> ExplanationDocument:
        """Why its packets were late."""
        assert self.trial.explanation is not None, f"{self.trial.name}: not traced"
        return self.trial.explanation

    @property
    def tail(self) -> ByPercentile:
        """What results.json has for this figure."""
        assert self.explanation.by_percentile is not None, f"{self.trial.name}: no percentiles"
        return self.explanation.by_percentile

    @property
    def causes(self) -> list[CauseDocument]:
        """The causes that have packets of the tail, the most first."""
        return [c for c in self.explanation.causes if c.n_packets]

    @property
    def words(self) -> list[Mark]:
        """The list of causes: a line each, the small ones together."""
        small = [c for c in self.causes if c.tail_share < _LEAST_SHARE]
        told = self.causes if len(small) < 2 else [c for c in self.causes if c not in small]
        lines = [_cause_line(cause) for cause in told]
        if len(told) < len(self.causes):
            share = share_words(sum(c.tail_share for c in small))
            lines.append({"cause": "", "is_guess": False, "text": f"{share}  {len(small)} others"})
        return [{**line, "at": self.top + _LINE * (2.5 + i)} for i, line in enumerate(lines)]

    @property
    def curve(self) -> list[int]:
        """Where latency is drawn, as an axis wants it: bottom, top."""
        top = self.top + _LINE * (2 + len(self.words)) + _ABOVE
        return [top + _CURVE, top]

    @property
    def bars(self) -> list[int]:
        """Where shares are drawn."""
        top = self.curve[0] + _BETWEEN
        return [top + _BARS, top]

    @property
    def end(self) -> int:
        """Where the next panel begins, in pixels."""
        return self.bars[0] + _BELOW


class TailByCause:
    """A percentile curve a traced trial, its tail coloured by cause; shares of causes below."""

    id = "tail_by_cause"
    question = "What made the slow packets slow?"
    reading = (
        "A panel for each traced trial, repetitions apart. Its list has the share of each cause in "
        "the whole tail. Then the curve of all its packets; each dot is one packet of the tail in "
        f"the colour of its verdict: the {EVERY_SLOWEST} slowest, before them {PER_DECADE} a "
        "decade. Below, every packet of the tail: the share of each cause in each stretch of "
        "percentiles, the number of packets above it. A cause has the same colour everywhere. A "
        "guess is a hollow dot and a pale bar with a dashed edge. "
        f"Of more than {MOST_PANELS} trials, each device's repetition with the slowest packet, "
        f"{MOST_PANELS} at most."
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
            layers += _word_layers(panel, colour)
            layers.append(_curve_layer(panel, rows, x, colour, (min(times), max(times))))
            layers.append(_bar_layer(panel, x, colour))
        height = panels[-1].end - _BELOW
        return layered(*layers, height=height, resolve={"scale": {"y": "independent"}})


def _panels(scene: Scene) -> list[_Panel]:
    chosen = [(d, t) for d in scene.devices for t in d.trials if _is_drawn(t)]
    if len(chosen) > MOST_PANELS:
        by_device = [[(d, t) for d, t in chosen if d is device] for device in scene.devices]
        worst = [max(pairs, key=lambda pair: _slowest(pair[1])) for pairs in by_device if pairs]
        chosen = worst[:MOST_PANELS]
    panels: list[_Panel] = []
    for device, trial in chosen:
        panels.append(_Panel(device, trial, panels[-1].end if panels else 0))
    return panels


def _is_drawn(trial: TrialResult) -> bool:
    """Whether it was traced, by a taut that kept percentiles, and had a tail."""
    tail = None if trial.explanation is None else trial.explanation.by_percentile
    return tail is not None and bool(tail.bins)


def _slowest(trial: TrialResult) -> int:
    return trial.latency().max_ns or 0


def _colour(panels: Sequence[_Panel]) -> alt.Color:
    """One scale for all; the lists in the panels are its legend."""
    names = list(dict.fromkeys(c.cause for panel in panels for c in panel.causes))
    scale = alt.Scale(domain=names, range=[cause_token(name) for name in names])
    return alt.Color("cause:N", scale=scale, legend=None)


def _curve_rows(panel: _Panel) -> list[Mark]:
    """The percentile curve of this trial alone."""
    counts = panel.device.counts("latency", of=panel.trial)
    return [
        {"one_in": one_in, "latency_us": latency_us}
        for _, one_in, latency_us in curve_points(*counts)
    ]


def _grid_layer(panel: _Panel, x: alt.X, most: float) -> alt.Chart:
    """Lines at the nines through both parts; the axis's own would end with one of the scales."""
    lines = alt.InlineData(values=[{"one_in": nine} for nine in decades(1, most) if nine < most])
    rules: alt.Chart = (
        alt.Chart(lines)
        .mark_rule(color="@grid")
        .encode(x=x, y=at_y(panel.curve[1]), y2=at_y2(panel.bars[0]))
    )
    return rules


def _curve_layer(
    panel: _Panel,
    rows: list[Mark],
    x: alt.X,
    colour: alt.Color,
    times: tuple[float, float],
) -> alt.LayerChart:
    """One axis for the line and the dots on it."""
    scale = alt.Scale(**{**time_scale(*times, 0.8, 1.3).to_dict(), "range": panel.curve})
    y = alt.Y(
        "latency_us:Q", scale=scale, axis=_own(time_axis("service latency", *times), grid=True)
    )
    line = alt.Chart(column_data(rows)).mark_line(
        interpolate="step-before", strokeWidth=1.5, color="@muted", opacity=0.7
    )
    tooltip = [
        alt.Tooltip("title:N", title="cause"),
        alt.Tooltip("one_in:Q", format=",.1f", title="one packet in"),
        alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
    ]
    layers = [line.encode(x=x, y=y)]
    for is_guess in (False, True):
        dots = [dot for dot in _dots(panel) if dot["is_guess"] == is_guess]
        if dots:
            marks = alt.Chart(column_data(dots)).mark_point(
                filled=not is_guess, size=26, opacity=0.9, aria=False, strokeWidth=1.2 * is_guess
            )
            layers.append(marks.encode(x=x, y=y, color=colour, tooltip=tooltip))
    found: alt.LayerChart = alt.LayerChart(layer=layers)
    return found


def _dots(panel: _Panel) -> list[Mark]:
    """Single packets of the tail; results of older versions do not say which are guesses."""
    packets = panel.tail.packets
    guesses = packets.is_guess or (False,) * len(packets.cause)
    titles = {c.cause: c.title for c in panel.causes}
    return [
        {
            "one_in": one_in,
            "latency_us": ns / 1e3,
            "cause": cause,
            "is_guess": is_guess,
            "title": title_words(titles[cause], int(is_guess), 1),
        }
        for one_in, ns, cause, is_guess in zip(
            packets.one_in, packets.latency_ns, packets.cause, guesses, strict=True
        )
    ]


def _own(axis: alt.Axis, *, grid: bool) -> alt.Axis:
    """What only the first of several axes would have: the left side, and its lines."""
    axis["orient"], axis["grid"] = "left", grid
    return axis


def _bar_layer(panel: _Panel, x: alt.X, colour: alt.Color) -> alt.LayerChart:
    """Stacked shares, each bar as wide as its stretch of percentiles."""
    scale = alt.Scale(domain=[0, 1], nice=False, range=panel.bars)
    axis = _own(alt.Axis(title="by cause", labelExpr=SHARE_LABEL, values=[0, 0.5, 1]), grid=False)
    y = alt.Y("low:Q", scale=scale, axis=axis)
    tooltip = [
        alt.Tooltip("title:N", title="cause"),
        alt.Tooltip("stretch:N", title="percentiles"),
        alt.Tooltip("packets:Q", format=",", title="packets"),
        alt.Tooltip("share:Q", format=".1%", title="share of the stretch"),
    ]
    counts = [
        {"one_in": float(np.sqrt(a * b)), "n": f"{row.packets:,}"}
        for row in panel.tail.bins
        for a, b in [row.one_in]
    ]
    numbers = alt.Chart(alt.InlineData(values=counts)).mark_text(
        fontSize=11, color="@muted", baseline="bottom"
    )
    layers = []
    for is_guess in (False, True):
        rows = [row for row in _stacked(panel) if row["is_guess"] == is_guess]
        if rows:
            bars = alt.Chart(column_data(rows)).mark_rect(**(_PALE if is_guess else _PLAIN))
            ends = {"x2": alt.X2("until:Q"), "y2": alt.Y2("high:Q")}
            bars = bars.encode(x=x, y=y, color=colour, tooltip=tooltip, **ends)
            edge = alt.Stroke("cause:N", scale=colour["scale"], legend=None)
            layers.append(bars.encode(stroke=edge) if is_guess else bars)
    layers.append(numbers.encode(x=x, y=at_y(panel.bars[1] - 3), text=alt.Text("n:N")))
    found: alt.LayerChart = alt.LayerChart(layer=layers)
    return found


def _stacked(panel: _Panel) -> list[Mark]:
    """From above, causes in the order of the list beside: one keeps its place from bar to bar."""
    rows: list[Mark] = []
    for stretch in panel.tail.bins:
        high = 1.0
        for cause, n, is_guess in _parts(panel, stretch):
            share = n / stretch.packets
            if n:
                rows.append(
                    {
                        "one_in": float(stretch.one_in[0]),
                        "until": float(stretch.one_in[1]),
                        "low": max(high - share, 0.0),
                        "high": high,
                        "cause": cause.cause,
                        "is_guess": is_guess,
                        "title": title_words(cause.title, int(is_guess), 1),
                        "stretch": f"{stretch.begin} to {stretch.end}",
                        "packets": n,
                        "share": share,
                    }
                )
            high -= share
    return rows


def _parts(panel: _Panel, stretch: Stretch) -> Iterator[tuple[CauseDocument, int, bool]]:
    """Each cause's packets of a stretch, and after them those that are guesses."""
    for cause in panel.causes:
        guesses = stretch.guesses.get(cause.cause, 0)
        yield cause, stretch.by_cause.get(cause.cause, 0) - guesses, False
        yield cause, guesses, True


def _word_layers(panel: _Panel, colour: alt.Color) -> list[alt.Chart]:
    """The trial's name above, how long its tail is, and the causes with their shares of it."""
    e = panel.explanation
    tail = f"repetition {panel.trial.repetition}: {e.tail_packets:,} packets above {e.over}"
    of_lines = alt.Chart(alt.InlineData(values=panel.words))
    at = alt.Y("at:Q", scale=None, axis=None)
    heads = [
        {"at": panel.top + _LINE * (line + 0.5), "text": text}
        for line, text in enumerate((panel.device.label, tail))
    ]
    name, length = (alt.Chart(alt.InlineData(values=[head])) for head in heads)
    words: dict[str, Any] = {"align": "left", "baseline": "middle", "color": "@ink"}
    x, text = at_x(_LEFT), alt.Text("text:N")
    return [
        name.mark_text(**words, fontWeight="bold").encode(x=x, y=at, text=text),
        length.mark_text(**words).encode(x=x, y=at, text=text),
        *(
            of_lines.transform_filter(f"datum.cause && datum.is_guess == {str(is_guess).lower()}")
            .mark_point(shape="square", filled=not is_guess, size=90, opacity=1)
            .encode(x=at_x(_LEFT + 6), y=at, color=colour)
            for is_guess in (False, True)
        ),
        of_lines.mark_text(**words).encode(x=at_x(_LEFT + 16), y=at, text=text),
    ]


def _cause_line(cause: CauseDocument) -> Mark:
    """A line of the list: a cause's share of the tail, and whether it is guessed."""
    guesses, n = count_guesses(cause.cause, cause.n_by_grade), cause.n_packets
    maybe = "" if not guesses else "maybe " if guesses == n else "in part maybe "
    words = f"{share_words(cause.tail_share)}  {maybe}{cause.title}"
    return {"cause": cause.cause, "is_guess": 0 < guesses == n, "text": words}
