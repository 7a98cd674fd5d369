"""content.json: the content classes found in a pair of captures, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as _field

from taut.records.documents.json_field import key

CONTENT_FILE = "content.json"

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

    n_packets: int = _field(metadata=key("packets"))
    n_in_tail: int = _field(metadata=key("in_tail"))


@dataclass(frozen=True)
class ContentClass:
    """Packets with one value of one field that are slower, or faster, than those around them.

    Packets that a class found before it explains are left out everywhere: of class, tail and rest.
    """

    field: str
    value: str
    direction: str  # "slower" or "faster"
    n_packets: int = _field(metadata=key("packets"))
    median_ns: int
    rest_median_ns: int
    """Medians of the latencies of this capture: those searched with it have clocks of their own."""
    shift_ns: int
    """How much slower the class is than the rest, as medians of (latency - block's median)."""
    shift_interval_ns: tuple[int, int]
    """95 % interval by order statistics; least and greatest shift of a class too small for one."""
    tail: TailShare
    p_corrected: float
    also: Sequence[str]
    """Other descriptions of the same packets."""
    packets: Sequence[ListedPacket] = _field(metadata=key("first_packets"))
    """The first packets of the class in this capture, in ingress order."""
    by_capture: Sequence[CaptureShare]
    """In this capture, then in those searched with it."""
    alternative: str | None = None
    """What would look the same: "something with a period of 65,536 packets"; None: nothing known.

    Only values of a counter have one."""


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
    """First and last position count from 0 in the ingress file."""
    n_packets: int
    """Packets from the first to the last that differ by far; some between them need not."""
    time_ns: int
    """When the first packet of the run came in."""
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

    n_packets: int = _field(metadata=key("packets"))
    n_tests: int = _field(default=0, metadata=key("tests"))
    classes: Sequence[ContentClass] = ()
    excluded: Sequence[Excluded] = ()
    tests_by_kind: Mapping[str, int] = _field(default_factory=dict)
    not_searched: str | None = None
    """Why nothing was looked for; None if it was."""
    counters: Sequence[SearchedCounter] = ()
    positions: Positions = Positions()
    n_captures: int = _field(default=1, metadata=key("captures"))
