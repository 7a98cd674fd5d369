"""What a search for content classes found, and what it left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_LISTED = 50


@dataclass(frozen=True)
class ListedPacket:
    """One packet of a class."""

    position: int
    time_ns: int
    latency_ns: int


@dataclass(frozen=True)
class TailShare:
    """The tail in which the class stands out most: the n slowest (or fastest) packets.

    Slow and fast are meant against the packets around (latency less the block's median).
    """

    n: int
    n_class: int
    of_class: float
    of_tail: float
    of_rest: float
    """Share of all other packets that lie in the tail."""


@dataclass(frozen=True)
class CaptureShare:
    """What one of several captures holds of a class."""

    n_packets: int
    n_in_tail: int


@dataclass(frozen=True)
class ContentClass:
    """Packets with one value of one field that are slower, or faster, than those around them.

    Packets that a class found before it explains are left out everywhere: of class, tail and rest.
    """

    field: str
    value: str
    direction: str  # "slower" or "faster"
    n_packets: int
    median_ns: int
    rest_median_ns: int
    shift_ns: int
    """Median of latency less the block's median, class against rest."""
    shift_interval_ns: tuple[int, int]
    """95 % by order statistics; the extremes of the class where it is too small for that."""
    tail: TailShare
    p_corrected: float
    also: Sequence[str]
    """Other descriptions of the same packets."""
    packets: Sequence[ListedPacket]
    """The first of them in this capture, in ingress order."""
    by_capture: Sequence[CaptureShare]
    """In this capture, then in those searched with it."""
    alternative: str | None = None
    """What would look the same: "something with a period of 65,536 packets"; None: nothing known.

    Only values of a counter have one."""

    def as_json(self) -> dict[str, Any]:
        """Plain data, as in analysis.json."""
        return {
            "field": self.field,
            "value": self.value,
            "direction": self.direction,
            "packets": self.n_packets,
            "median_ns": self.median_ns,
            "rest_median_ns": self.rest_median_ns,
            "shift_ns": self.shift_ns,
            "shift_interval_ns": list(self.shift_interval_ns),
            "tail": vars(self.tail).copy(),
            "p_corrected": self.p_corrected,
            "also": list(self.also),
            "first_packets": [vars(packet).copy() for packet in self.packets],
            "by_capture": [
                {"packets": of.n_packets, "in_tail": of.n_in_tail} for of in self.by_capture
            ],
            "alternative": self.alternative,
        }


@dataclass(frozen=True)
class Excluded:
    """A field, or a class of it, that follows time and cannot be told from it."""

    field: str
    reason: str


@dataclass(frozen=True)
class SearchedCounter:
    """A counter whose values come back, so that each of them is a class to search."""

    field: str
    n_values: int
    period_packets: int | None
    """Packets from one to the next of the same value; None where they come back irregularly."""


@dataclass(frozen=True)
class PositionRun:
    """Neighbours in the capture that differ from the rest by far, whatever is in them."""

    where: str  # "first", "last" or "inside"
    direction: str  # "slower" or "faster"
    first_position: int
    last_position: int
    """Counted from 0 in the ingress file."""
    n_packets: int
    """Packets from the first to the last that differ by far; some between them need not."""
    time_ns: int
    """Of the first."""
    median_ns: int
    rest_median_ns: int


@dataclass(frozen=True)
class Positions:
    """The runs of neighbours found: those that matter most, in their order, and how many."""

    runs: Sequence[PositionRun] = ()
    n_runs: int = 0


@dataclass(frozen=True)
class ContentSearch:
    """The outcome for one pair of captures, and for those searched with it."""

    n_packets: int
    n_tests: int = 0
    classes: Sequence[ContentClass] = ()
    excluded: Sequence[Excluded] = ()
    tests_by_kind: Mapping[str, int] = field(default_factory=dict)
    not_searched: str | None = None
    """Why nothing was looked for; None if it was."""
    counters: Sequence[SearchedCounter] = ()
    positions: Positions = Positions()
    n_captures: int = 1

    def as_json(self) -> dict[str, Any]:
        """Plain data, as in analysis.json."""
        return {
            "packets": self.n_packets,
            "tests": self.n_tests,
            "tests_by_kind": dict(self.tests_by_kind),
            "not_searched": self.not_searched,
            "classes": [found.as_json() for found in self.classes],
            "excluded": [vars(e).copy() for e in self.excluded],
            "counters": [vars(c).copy() for c in self.counters],
            "positions": {
                "runs": [vars(run).copy() for run in self.positions.runs],
                "n_runs": self.positions.n_runs,
            },
            "captures": self.n_captures,
        }
