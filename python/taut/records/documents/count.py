"""count.json and episodes.json: what taut-count found in the records of a trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.generator import HistogramResolution
from taut.records.documents.json_field import rest

COUNT_FILE = "count.json"
EPISODES_FILE = "episodes.json"


@dataclass(frozen=True)
class GroupCounts:
    """Records of one direction, of the warm-up or not, by what became of them."""

    direction: int
    is_cold: bool
    counters: Mapping[str, int] = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class CountDocument:
    """What was counted beside the values, which are in record files."""

    packets: tuple[GroupCounts, ...]
    extra: tuple[GroupCounts, ...]
    """Records beyond each packet's own one."""
    exact_values_most: int
    """A distribution with more distinct values has those of histogram_resolution."""
    histogram_resolution: HistogramResolution
    first_sent_ns: int | None = None
    last_sent_ns: int | None = None
    """Of the packets received after the warm-up; None: there are none."""


@dataclass(frozen=True)
class EpisodesDocument:
    """Sums over all episodes, and the longest ones, longest first."""

    totals: Mapping[str, int]
    worst: tuple[Mapping[str, int], ...]
