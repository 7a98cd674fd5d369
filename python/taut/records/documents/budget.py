"""The latency budget of a trial or a variant: what each hop and each link holds of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

PartKind: TypeAlias = Literal["link", "wait", "element"]


@dataclass(frozen=True)
class BudgetPart:
    """One stretch of the way of a packet, and the time packets spent on it."""

    name: str
    kind: PartKind
    """link: sent, and not yet there when the next element looked; wait: there, or just coming,
    until it looked; element: from its receive call's return until its send call."""
    mean_ns: Mapping[str, float]
    """By the column: over its packets."""


@dataclass(frozen=True)
class BudgetColumn:
    """The packets that a column is about."""

    n: int
    latency_ns: float
    """Their mean latency, from packets.parquet."""
    residual_ns: float
    """`latency_ns` less the sum of the parts."""


@dataclass(frozen=True)
class Budget:
    """The budget of one direction."""

    direction: int
    every: int
    """Of so many packets one is stamped."""
    n: int
    """Packets that came back and have the stamps of all elements."""
    without_all_stamps: int
    """Packets that came back, but not all of their stamps were kept."""
    lost: Mapping[str, int]
    """Stamped packets that never came back, by the part that they did not leave."""
    resolution_ns: float
    """How far the clocks of two cores may be apart, and rounding."""
    out_of_order: int = 0
    """Packets that left an element before they were there, by more than the resolution."""
    worst_ns: int = 0
    """The longest such time."""
    columns: Mapping[str, BudgetColumn] = field(default_factory=dict)
    """mean: of all these packets. p99, ...: of those nearest to that percentile, as many to both
    sides as a tenth of those above it. Empty where stamps are out of order."""
    parts: tuple[BudgetPart, ...] = ()
    """In the order of the way; empty where stamps are out of order."""
