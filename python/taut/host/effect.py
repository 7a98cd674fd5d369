"""Effect: what a knob does to the gaps of this machine, by measuring with it off and on in turn.

Each repetition measures both, one right after the other and in random order, so that drift hits
both alike. The effect is the Hodges-Lehmann estimate of the differences on - off: the median of the
means of all pairs of them. Its interval inverts the exact signed-rank test of Wilcoxon, which the
random order makes valid whatever the distributions. The intervals of all figures hold together with
95 %: each has its share of the error (Bonferroni).
"""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median

from taut.core.errors import InputError
from taut.host.noise import Noise

CONFIDENCE = 0.95
METHOD = (
    "Hodges-Lehmann estimate of the paired differences, exact Wilcoxon signed-rank intervals, "
    "which hold together with 95 % (Bonferroni)"
)


@dataclass(frozen=True)
class Figure:
    """One number of a measurement; less is better."""

    name: str
    unit: str
    value: Callable[[Noise], float]


def _rate(threshold_ns: int) -> Callable[[Noise], float]:
    def value(noise: Noise) -> float:
        polled_ns = sum(core.duration_ns for core in noise.cores)
        return 1e9 * sum(core.over[threshold_ns] for core in noise.cores) / polled_ns

    return value


def _stolen_percent(noise: Noise) -> float:
    polled_ns = sum(core.duration_ns for core in noise.cores)
    return 100 * sum(core.stolen_ns for core in noise.cores) / polled_ns


FIGURES = (
    Figure("gaps > 1 us", "/s", _rate(1_000)),
    Figure("gaps > 10 us", "/s", _rate(10_000)),
    Figure("gaps > 100 us", "/s", _rate(100_000)),
    Figure("gaps > 1 ms", "/s", _rate(1_000_000)),
    Figure("time stolen", "%", _stolen_percent),
    Figure("worst gap", "us", lambda noise: max(core.worst_ns for core in noise.cores) / 1e3),
)
"""Rates are per second and core."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and where the truth lies with the confidence asked for."""

    estimate: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether no effect is shown."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True)
class FigureEffect:
    """One figure of all repetitions, off and on."""

    figure: Figure
    off: Sequence[float]
    on: Sequence[float]
    difference: Interval
    """On - off: below zero is better."""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.difference.holds_zero:
            return "no effect shown"
        return "less" if self.difference.estimate < 0 else "more"

    @property
    def medians(self) -> tuple[float, float]:
        """Of off and on."""
        return median(self.off), median(self.on)


@dataclass(frozen=True)
class Effect:
    """All figures; `orders` says which came first in each repetition."""

    figures: Sequence[FigureEffect]
    orders: Sequence[tuple[bool, bool]]


def measure_effect(
    measure: Callable[[bool], Noise],
    turned_on: Callable[[], AbstractContextManager[object]],
    repetitions: int,
    seed: int,
) -> Effect:
    """Measure with the knobs off and on, in turn. `measure` is told whether they are on."""
    check_repetitions(repetitions)
    # Only the order hangs on it.
    chance = random.Random(seed)  # noqa: S311
    orders = []
    found: dict[bool, list[Noise]] = {False: [], True: []}
    for _ in range(repetitions):
        order = (False, True) if chance.random() < 0.5 else (True, False)
        orders.append(order)
        for is_on in order:
            found[is_on].append(_measure_one(measure, turned_on, is_on=is_on))
    return Effect(compare(found[False], found[True]), orders)


def compare(off: Sequence[Noise], on: Sequence[Noise]) -> list[FigureEffect]:
    """Compare pairs of measurements, every figure."""
    compared = []
    for figure in FIGURES:
        values_off, values_on = [figure.value(n) for n in off], [figure.value(n) for n in on]
        differences = [b - a for a, b in zip(values_off, values_on, strict=True)]
        interval = hodges_lehmann(differences, 1 - (1 - CONFIDENCE) / len(FIGURES))
        compared.append(FigureEffect(figure, values_off, values_on, interval))
    return compared


def hodges_lehmann(differences: Sequence[float], confidence: float) -> Interval:
    """Estimate the location of differences; ValueError: too few for this confidence."""
    n = len(differences)
    means = sorted((a + b) / 2 for at, a in enumerate(differences) for b in differences[at:])
    cut = _cut(n, 1 - confidence)
    if cut is None:
        raise ValueError(f"{n} differences are too few for {confidence:.4f}")
    return Interval(median(means), means[cut], means[-1 - cut])


def check_repetitions(repetitions: int) -> None:
    """InputError: so few give no interval."""
    least = next(n for n in range(1, 64) if _cut(n, (1 - CONFIDENCE) / len(FIGURES)) is not None)
    if repetitions < least:
        raise InputError(
            f"repetitions {repetitions}: too few for an interval over {len(FIGURES)} figures; "
            f"{least} or more"
        )


def _measure_one(
    measure: Callable[[bool], Noise],
    turned_on: Callable[[], AbstractContextManager[object]],
    *,
    is_on: bool,
) -> Noise:
    if not is_on:
        noise = measure(False)
    else:
        with turned_on():
            noise = measure(True)
    if noise.was_interrupted:
        raise KeyboardInterrupt
    return noise


def _cut(n: int, error: float) -> int | None:
    """Give how many means to leave out at either end: the greatest with 2 P(W <= cut) <= error.

    W is the signed-rank statistic of n differences: a sum of the ranks 1..n, each in with 1/2.
    """
    ways = [1]  # that give the sum which is the index
    for rank in range(1, n + 1):
        longer = [*ways, *[0] * rank]
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    allowed, below, cut = error * 2**n / 2, 0, None
    for total, count in enumerate(ways):
        below += count
        if below > allowed:
            break
        cut = total
    return cut
