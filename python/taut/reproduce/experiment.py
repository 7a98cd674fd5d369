"""What a published experiment is: its load as a spec, and how its numbers stand beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from taut.records.documents.published import PublishedTable
from taut.records.documents.results import Variant

Variants = Sequence[Variant]
"""The analysed run's variants: one row per device and load, repetitions pooled."""


DID_IT = "did it?"
"""The last column of a table of shapes: yes, no or not run."""


def micros(ns: float, n_digits: int = 3) -> str:
    """Write a time in µs without its unit: so many digits, or every one before the point."""
    text = f"{ns / 1000:.{n_digits}g}"
    return text if "e" not in text else f"{ns / 1000:.0f}"


@dataclass(frozen=True)
class Section:
    """One table of published beside measured; RUN/published.json is a list of these."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def document(self) -> PublishedTable:
        """Give the form of published.json."""
        return PublishedTable(self.title, self.columns, self.rows, self.note, self.outcome)

    @property
    def outcome(self) -> str:
        """How many of its shapes came out, and which did not; empty for a table of numbers."""
        if self.columns[-1] != DID_IT:
            return ""
        judged = [row for row in self.rows if row[-1] in ("yes", "no")]
        failed = [row[0] for row in judged if row[-1] == "no"]
        paper = self.title.split(":")[0]
        if not judged:
            return f"{paper}: none of its {len(self.rows)} shapes could be judged"
        words = f"{paper}: {len(judged) - len(failed)} of {len(judged)} shapes as published"
        if failed:
            words += f", not: {'; '.join(failed)}"
        n_others = len(self.rows) - len(judged)
        return f"{words} ({n_others} not judged)" if n_others else words


class PublishedExperiment(Protocol):
    """One publication; members are listed in reproduce/__init__.py.

    What few of them have has a default here, which members inherit.
    """

    @property
    def name(self) -> str:
        """The word on the command line."""
        ...

    @property
    def skip_of_captures(self) -> str | None:
        """How much of its published captures is skipped at the start (`1s`); None: it has none."""
        return None

    @property
    def states(self) -> Sequence[str]:
        """States of the host that are entered for it, which only root can do."""
        return ()

    @property
    def depths(self) -> Mapping[str, str]:
        """Those of its states that are no more than one remedy, which may find nothing to do."""
        return {}

    def optional_places(self) -> Mapping[str, str]:
        """Give placements that may be missing, and the kind of each."""
        return {}

    def optional_devices(self) -> Mapping[str, str]:
        """Give devices that may be missing, and the driver of each."""
        return {}

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Give the experiment as TOML, without the devices and states this machine cannot have."""
        ...

    def soak_text(self, length_ns: int, *, without: Sequence[str] = ()) -> str | None:  # noqa: ARG002 - most have none
        """Give its soak of this length as TOML; None: none was published."""
        return None

    def compare(self, variants: Variants) -> list[Section]:
        """Set published beside measured."""
        ...
