"""What a published experiment is: its load as a spec, and how its numbers stand beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Variants = Sequence[Mapping[str, Any]]
"""The analysed run's variants: one row per device and load, repetitions pooled."""


@dataclass(frozen=True)
class Section:
    """One table of published beside measured; RUN/published.json is a list of these."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """Give the form of published.json."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "note": self.note,
        }


class PublishedExperiment(Protocol):
    """One publication; members are listed in reproduce/__init__.py."""

    @property
    def name(self) -> str:
        """The word on the command line."""
        ...

    @property
    def citation(self) -> str:
        """Who published it, where."""
        ...

    @property
    def skip_of_captures(self) -> str | None:
        """What its published captures are analysed without at their start; None: it has none."""
        ...

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Give the experiment as TOML, without the devices this machine cannot run."""
        ...

    def optional_devices(self) -> Mapping[str, str]:
        """Give devices that may be missing, and the driver of each."""
        ...

    def compare(self, variants: Variants) -> list[Section]:
        """Set published beside measured."""
        ...
