"""Medians and tails of one experiment, run by run, with the steps that were found."""

from collections.abc import Mapping, Sequence

from taut.analysis.trend import FIGURES
from taut.records.documents.trend import SeriesOfTrend
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    column_data,
    device_colour,
    layered,
    time_axis,
    time_scale,
)

_DASHES = ([1, 0], [7, 3], [2, 3])


class OverRuns:
    """The figure of a trend: one a load."""

    question = "What did each run measure, and where did a median step?"
    reading = (
        "Runs in the order of their time. Solid: medians, where steps are looked for; dashed: "
        "tails. A vertical rule is a step, at the first run of the new level: solid where it is "
        "confirmed, dashed where it is suspected. A figure that too few packets support is left "
        "out."
    )

    def draw(
        self, series: Sequence[SeriesOfTrend], names: Sequence[str], colours: Mapping[str, str]
    ) -> Chart | None:
        """Draw the series of one load; nothing where no run has a figure."""
        rows = [row for one in series for row in _points(one, names)]
        if not rows:
            return None
        least = min(float(row["latency_us"]) for row in rows)
        most = max(float(row["latency_us"]) for row in rows)
        x = alt.X(
            "run:N",
            scale=alt.Scale(domain=list(names)),
            axis=alt.Axis(title="run", labelAngle=-45, labelOverlap=True, grid=False),
        )
        dash = alt.StrokeDash(
            "figure:N",
            scale=alt.Scale(domain=list(FIGURES), range=[list(dash) for dash in _DASHES]),
            legend=alt.Legend(symbolType="stroke", symbolSize=300),
        )
        colour = device_colour(colours)
        base = alt.Chart(column_data(rows)).encode(
            x=x,
            y=alt.Y(
                "latency_us:Q",
                scale=time_scale(least, most, 0.8, 1.3),
                axis=time_axis("service latency", least, most),
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("device:N"),
                alt.Tooltip("figure:N"),
                alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
            ],
        )
        layers = [
            base.mark_line(strokeWidth=2).encode(strokeDash=dash),
            base.mark_point(filled=True, size=30, opacity=1),
            *_rules(series, x, colour),
        ]
        return layered(*layers, height=340)


def _points(series: SeriesOfTrend, names: Sequence[str]) -> list[Mark]:
    return [
        {"run": run, "device": series.label, "figure": figure, "latency_us": value / 1e3}
        for figure, values in series.figures_ns.items()
        for run, value in zip(names, values, strict=True)
        if value is not None
    ]


def _rules(series: Sequence[SeriesOfTrend], x: alt.X, colour: alt.Color) -> list[Chart]:
    found: list[Chart] = []
    for is_confirmed, dash in ((True, [1, 0]), (False, [4, 4])):
        steps: list[Mark] = [
            {"run": step.run, "device": one.label}
            for one in series
            for step in one.steps
            if step.is_confirmed is is_confirmed
        ]
        if steps:
            marked = alt.Chart(column_data(steps)).encode(x=x, color=colour)
            found.append(marked.mark_rule(strokeDash=dash, strokeWidth=1.5))
    return found
