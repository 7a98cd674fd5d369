"""What a figure is: a question, and a chart that answers it."""

import warnings
from typing import Protocol

from taut.core.plugins import PluginWarning
from taut.report.chart import Chart, as_spec
from taut.report.scene import Scene


class Figure(Protocol):
    """One figure of the report."""

    @property
    def id(self) -> str:
        """The name of its files."""

    @property
    def question(self) -> str:
        """What it answers: its caption."""

    @property
    def reading(self) -> str:
        """How to read it, and what is drawn and what is not."""

    def draw(self, scene: Scene) -> Chart | None:
        """Draw it, or nothing where the run cannot answer the question."""


class Guarded:
    """A figure of a plug-in: where drawing it fails, it is left out with one line."""

    def __init__(self, figure: Figure) -> None:
        self.id, self.question, self.reading = figure.id, figure.question, figure.reading
        self._figure = figure

    def draw(self, scene: Scene) -> Chart | None:
        """Draw it, or nothing."""
        try:
            chart = self._figure.draw(scene)
            # Some faults of a chart show only here: a table too long, a column of no known type.
            if chart is not None:
                as_spec(chart)
            return chart
        except Exception as error:  # noqa: BLE001 - code of others may raise anything
            what = f"{type(error).__name__}: {error}"
            warnings.warn(f"figure {self.id}: left out: {what}", PluginWarning, stacklevel=2)
            return None
