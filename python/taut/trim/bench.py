"""How a trim measures: one figure for each state and repetition. Members: packets.py, stalls.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import fmean, median
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
    gone: Mapping[str, Figures] = field(default_factory=dict)
    """Shares of packets that were lost or not sent, likewise; empty: there are no packets."""
    tail: float = 1.0
    """The share of packets that lie above a figure."""

    def log_ratio(self, before: str, after: str, *, with_void: bool = False) -> float | None:
        """Give the mean over the cells of ln(after / before); None where one state lacks a cell.

        A state in which a cell failed must not be judged by the others alone.
        """
        figures = self.with_void if with_void else self.figures
        first, second = figures.get(before, {}), figures.get(after, {})
        if not first or first.keys() != second.keys():
            return None
        return fmean(log(second[cell] / first[cell]) for cell in first)


def losses_apart(repetitions: Sequence[Repetition], before: str, after: str) -> str | None:
    """Name the cell that loses another share of its packets in one state than in the other.

    What is lost has no latency. So where losses differ by more than the share of packets above
    the figure, it is of other packets, and says nothing of the states. By medians over the
    repetitions, as claims are by ranks: a stall of the machine that loses a quarter of one trial
    says nothing of the states either. None: nowhere.
    """
    cells = dict.fromkeys(cell for one in repetitions for cell in one.gone.get(before, {}))
    for cell in cells:
        both = [
            (one.gone[before][cell], one.gone[after][cell], one.tail)
            for one in repetitions
            if cell in one.gone.get(before, {}) and cell in one.gone.get(after, {})
        ]
        if not both:
            continue
        first, second, tail = map(median, zip(*both, strict=True))
        if abs(second - first) > tail:
            return (
                f"{cell}: lost or not sent {100 * first:.3g} % {before}, {100 * second:.3g} % "
                f"{after} (medians)"
            )
    return None


class Bench(Protocol):
    """Measures a host in states. The host is as found outside `measure`."""

    @property
    def figure(self) -> str:
        """What is measured, in words: "p99.9 of the service latency"."""
        ...

    @property
    def unusable(self) -> str:
        """Why a pair of runs does not count, in words."""
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
