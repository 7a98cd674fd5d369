"""The page of a trend: verdict, what each load's runs measured, what changed between runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from taut.analysis.trend import Trend
from taut.core.files import write_whole
from taut.records.documents.trend import SeriesOfTrend
from taut.report import cells
from taut.report import trend as words
from taut.report.chart import as_spec, write_images
from taut.report.page import Drawn, assets, templates
from taut.report.palette import colour_devices
from taut.report.trend import Changes
from taut.report.trend_figure import OverRuns


@dataclass(frozen=True)
class Section:
    title: str
    series: Sequence[SeriesOfTrend]
    figures: Sequence[Drawn]


def write_trend(trend: Trend, changes: Changes, out: Path, *, images: bool = False) -> None:
    """Write the page; with `images` also figures/ beside it."""
    loads = list(dict.fromkeys(series.load for series in trend.series))
    sections = [_section(trend, load, number) for number, load in enumerate(loads, 1)]
    drawn = [d for section in sections for d in section.figures]
    out.parent.mkdir(parents=True, exist_ok=True)
    if images:
        write_images({d.id: d.spec for d in drawn}, out.parent / "figures")
    page = templates().get_template("trend.html.j2")
    text = page.render(
        version=metadata.version("taut"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        title=f"{trend.names[0]} to {trend.names[-1]}",
        trend=trend,
        changes=changes,
        sections=sections,
        warnings=trend.warnings,
        images=images,
        words=words,
        cells=cells,
        **assets(drawn),
    )
    write_whole(out, text)


def _section(trend: Trend, load: str, number: int) -> Section:
    series = [one for one in trend.series if one.load == load]
    figure = OverRuns()
    colours = colour_devices({one.label: one.is_floor for one in series})
    chart = figure.draw(series, trend.names, colours)
    figures = [] if chart is None else [Drawn(f"over-runs-{number}", figure, as_spec(chart))]
    return Section(load, series, figures)
