"""How a trim measures: one figure for each state and repetition. Members: packets.py, stalls.py."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isinf, isnan, log
from statistics import median
from typing import Protocol

from taut.analysis.paired import walsh_averages
from taut.host.plan import Plan
from taut.host.state import HostState
from taut.trim.candidates import CauseFound

Figures = Mapping[str, float]
"""The figure of each cell (a device under a load, or a core), above 0; less is better.

inf: the percentile is one of the packets that were lost or not sent, which are slower than any.
"""


def mean_log_ratio(before: Figures, after: Figures) -> float | None:
    """Give the mean over the cells of ln(after / before).

    A lost packet is slower than any that came back, by no number: +-inf, or 0 if both are lost.
    None: one state lacks a cell, for a state in which a cell failed must not be judged by the
    others alone; or one cell gives inf and another -inf, which have no mean.
    """
    if not before or before.keys() != after.keys():
        return None
    pairs = [(before[cell], after[cell]) for cell in before]
    total = sum(0.0 if isinf(a) and isinf(b) else log(b) - log(a) for a, b in pairs)
    return None if isnan(total) else total / len(pairs)


def known(figure: float | None) -> float | None:
    """Give a figure as documents have it; None: there is none, or it is a lost packet."""
    return figure if figure is not None and isfinite(figure) else None


def known_median(figures: Sequence[float | None]) -> float | None:
    """Give the median of those that there are; None: there are none, or it is a lost packet."""
    there = [figure for figure in figures if figure is not None]
    return known(median(there)) if there else None


@dataclass(frozen=True)
class Repetition:
    """Every state measured once, in turn."""

    number: int
    figures: Mapping[str, Figures]
    """Figures by name of the state; a cell that failed is left out."""
    gone: Mapping[str, Figures] = field(default_factory=dict)
    """Shares of packets that were lost or not sent, likewise; empty: there are no packets."""
    with_void: Mapping[str, Figures] = field(default_factory=dict)
    """The same figures of all packets, void ones included."""
    gone_with_void: Mapping[str, Figures] = field(default_factory=dict)

    def log_ratio(self, before: str, after: str, *, with_void: bool = False) -> float | None:
        """Give the mean over the cells of ln(after / before), as `mean_log_ratio` does."""
        figures = self.with_void if with_void else self.figures
        return mean_log_ratio(figures.get(before, {}), figures.get(after, {}))


@dataclass(frozen=True)
class Losses:
    """That a figure is a lost packet in one of two states or in both: a ratio then has no size."""

    words: str
    """Of the first cell of which it is one."""
    states: tuple[str, ...]
    """In which it is one, of any cell."""


def losses_of(
    repetitions: Sequence[Repetition], before: str, after: str, *, with_void: bool = False
) -> Losses | None:
    """Find cells whose figure is a lost packet in one of two states; None: none is.

    By medians over the repetitions, as claims are by ranks: a stall of the machine that loses a
    quarter of one trial says nothing of the states. Fewer repetitions count where they are so many
    that the estimate has no size.
    """
    found = [
        (one.with_void, one.gone_with_void) if with_void else (one.figures, one.gone)
        for one in repetitions
    ]
    lost = []
    for cell in dict.fromkeys(cell for figures, _ in found for cell in figures.get(before, {})):
        for state in (before, after):
            of = [figures[state][cell] for figures, _ in found if cell in figures.get(state, {})]
            if of and isinf(median(of)):
                lost.append((cell, state))
    if not lost:
        ratios = [one.log_ratio(before, after, with_void=with_void) for one in repetitions]
        return _unsized(
            [of for of, _ in found], [r for r in ratios if r is not None], before, after
        )
    cell = lost[0][0]
    shares = [_share_words([of for _, of in found], cell, state) for state in (before, after)]
    words = f"{cell}: lost or not sent {', '.join(shares)} (medians)"
    return Losses(words, tuple(dict.fromkeys(state for _, state in lost)))


def _share_words(gone: Sequence[Mapping[str, Figures]], cell: str, state: str) -> str:
    shares = [of[state][cell] for of in gone if cell in of.get(state, {})]
    return f"{100 * median(shares):.3g} % {state}" if shares else f"no run {state}"


def _unsized(
    figures: Sequence[Mapping[str, Figures]], log_ratios: Sequence[float], before: str, after: str
) -> Losses | None:
    """Tell of the cell that is lost most often if an estimate has no size; None: it has one."""
    estimate = median(walsh_averages(log_ratios)) if log_ratios else 0.0
    if isfinite(estimate):
        return None
    slower = after if estimate > 0 else before
    lost = Counter(cell for of in figures for cell, x in of.get(slower, {}).items() if isinf(x))
    [(cell, _)] = lost.most_common(1)
    counts = []
    for state in (before, after):
        of_cell = [of[state][cell] for of in figures if cell in of.get(state, {})]
        counts.append(f"{sum(map(isinf, of_cell))} of {len(of_cell)} runs {state}")
    return Losses(f"{cell}: the figure is a lost packet in {', '.join(counts)}", (slower,))


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
