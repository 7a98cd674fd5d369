"""How a trim measures: one figure for each state and repetition. Members: packets.py, stalls.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Protocol

from taut.host.plan import Plan
from taut.host.state import HostState
from taut.trim.candidates import CauseFound

Figures = Mapping[str, float]
"""The figure of each cell (a device under a load, or a core), above 0; less is better."""


@dataclass(frozen=True)
class Repetition:
    """Every state measured once, in turn."""

    number: int
    figures: Mapping[str, Figures]
    """Figures by name of the state; a cell that failed is left out."""
    with_void: Mapping[str, Figures] = field(default_factory=dict)
    """The same figures of all packets, void ones included."""

    def log_ratio(self, before: str, after: str, *, with_void: bool = False) -> float | None:
        """Give the mean over the cells of ln(after / before); None where no cell has both."""
        figures = self.with_void if with_void else self.figures
        first, second = figures.get(before, {}), figures.get(after, {})
        common = [cell for cell in first if cell in second]
        if not common:
            return None
        return sum(log(second[cell] / first[cell]) for cell in common) / len(common)


class Bench(Protocol):
    """Measures a host in states. The host is as found outside `measure`."""

    @property
    def figure(self) -> str:
        """What is measured, in words: "p99.9 of the service latency"."""
        ...

    def scout(self) -> Sequence[CauseFound]:
        """Measure the host once as found, and explain its tail; the largest cause first."""
        ...

    def plan(self, state: HostState) -> Plan:
        """Say what a state would change, seen from the host as found."""
        ...

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        """Measure the states in turn, once in each repetition; no number is used in two calls."""
        ...

    def seconds(self, n_states: int) -> float:
        """Guess how long one repetition of so many states takes."""
        ...
