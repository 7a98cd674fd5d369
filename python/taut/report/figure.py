"""What a figure is: a question, and a chart that answers it."""

from typing import Protocol

from taut.report.chart import Chart
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
