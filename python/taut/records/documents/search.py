"""search.json: what `taut search` was to find, what it found, and every trial on its way.

Loads are in packets per second of each direction; `both` says whether there are two.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

SEARCH_FILE = "search.json"
SEARCH_FORMAT = 1
UNIT = "packets/s of each direction"

Irregular: TypeAlias = Literal[
    "lowest load fails",
    "highest load passes",
    "instrument limited",
    "lower bound instrument limited",
    "path limited",
    "loopback without a bound",
    "stopped",
]
"""Why a goal has not both bounds of the device alone, as near to each other as was asked."""

LOWEST_FAILS: Irregular = "lowest load fails"
HIGHEST_PASSES: Irregular = "highest load passes"
LIMITED: Irregular = "instrument limited"
"""Nobody knows whether the upper bound is the device's, or the instrument's."""
LOWER_LIMITED: Irregular = "lower bound instrument limited"
"""Nor whether the device alone would keep the goal at the lower bound."""
PATH: Irregular = "path limited"
"""The instrument could not send at the upper bound, which it can with no device between."""
FLOOR_UNBOUND: Irregular = "loopback without a bound"
"""Nobody knows what the instrument carries, nor whether it was the device that broke the goal."""
STOPPED: Irregular = "stopped"


@dataclass(frozen=True)
class Goal:
    """A goal with all its attributes (RFC 9971)."""

    name: str
    loss_ratio: float
    """The share of packets that a trial may lose; with `within_ns` also those later than that."""
    exceed_ratio: float
    relative_width: float
    initial_trial_duration_ns: int
    final_trial_duration_ns: int
    duration_sum_ns: int
    preceding_targets: int
    expansion_coefficient: int
    within_ns: int | None = None
    """A packet later than this counts as lost, which no RFC does; None: only lost ones count."""


@dataclass(frozen=True)
class Bound:
    """A load that was judged, and for how long its trials kept to the goal, or did not."""

    load_pps: float
    good_ns: int
    bad_ns: int
    good_short_ns: int = 0
    """Of trials shorter than the final ones."""
    bad_short_ns: int = 0


@dataclass(frozen=True)
class GoalFound:
    """What a search found for one goal."""

    goal: str
    lower: Bound | None
    """The relevant lower bound: the goal is kept here, and was at no load below it broken."""
    upper: Bound | None
    """The relevant upper bound: the lowest load at which the device breaks the goal."""
    conditional_throughput_pps: float | None
    irregular: Irregular | None
    """None: both bounds are there, at most the goal's width apart."""


@dataclass(frozen=True)
class Closing:
    """The bounds of a goal after a trial."""

    goal: str
    lower_pps: float | None
    upper_pps: float | None


@dataclass(frozen=True)
class Step:
    """One answer that the search took: the last of `trials`, or the first if none would do."""

    trials: tuple[str, ...]
    """Folders of the trials; all but one were repeated, for the generator was held up in them."""
    load_pps: float
    duration_ns: int
    due: int
    sent: int
    """At the load: what left more slowly than that counts as unsent."""
    lost: int
    """With those that were late, where goals ask for it."""
    loss_ratio: float
    """Lost and unsent over due."""
    instrument_limited: bool
    """None of the trials would do; no bound of the device alone may rest on it."""
    bounds: tuple[Closing, ...] = ()
    behind: bool = False
    """The instrument sent more slowly than it should have, in each of the trials."""
    own: int = 0
    """Of what is missing, packets that the generator was late with: lost, or refused by the link.
    Where a goal would be kept without them, no upper bound of the device alone may rest on it."""

    def is_limited_at(self, allowed: float) -> bool:
        """Whether it may be the instrument's doing that more than a share is missing."""
        ratio = self.loss_ratio
        return self.instrument_limited or ratio > allowed >= ratio - self.own / self.due


@dataclass(frozen=True)
class LatencyAt:
    """Latency at a share of a bound, measured after the search."""

    share: float
    goal: str
    load_pps: float
    trials: tuple[str, ...]
    p50_ns: int | None = None
    """None: not analysed yet, or nothing came back."""
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    max_ns: int | None = None
    unsupported_percentiles: tuple[str, ...] = ()
    """Percentiles with too few independent packets above them."""
    void_share: float | None = None
    """Of packets that the generator was late with; None: not analysed yet."""
    instrument_limited: bool = False
    """They are more than 1 % of a trial: the tail may be the generator's own."""


@dataclass(frozen=True)
class SearchOfDevice:
    """The searches of one device under one load, for all goals."""

    device: str
    driver: str
    link: str
    traffic: str
    frame: str
    both: bool
    is_instrument: bool
    """Whether it is the loopback, whose bound is the highest load for the devices."""
    min_pps: float
    max_pps: float
    is_max_the_instruments: bool
    """Whether `max_pps` is what the loopback carries; else what was asked for."""
    found: tuple[GoalFound, ...]
    steps: tuple[Step, ...]
    stopped: str | None = None
    latency: tuple[LatencyAt, ...] = ()
    is_floor_stopped: bool = False
    """Whether the loopback's search ended early: it may carry more than `max_pps`."""


@dataclass(frozen=True)
class SearchDocument:
    """The goals, what was found for each device and load, and by which trials."""

    goals: tuple[Goal, ...]
    searches: tuple[SearchOfDevice, ...]
    method: str
    took_s: float
    """Of this call; a resumed search took longer in all."""
    unit: str = UNIT
    format: int = SEARCH_FORMAT
