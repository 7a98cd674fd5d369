"""What the slowest packet of a longer time may be: peaks over threshold, with refusals.

Late packets come in episodes, and the packets of one are one witness: its maximum. Maxima of
independent episodes above a high threshold follow a generalised Pareto distribution (Pickands 1975)
where nothing changes and one mechanism makes them. So the threshold is the lowest from which on the
fitted shape stays the same, and nothing is said where

- there are fewer than 50 episodes above it,
- the episodes drift: they get larger or more frequent with time (Mann-Kendall),
- they are of two kinds: two bands with nothing between, no threshold fits (Anderson-Darling), or
  the shape never settles,
- the largest ones stand at one value, as where a ring is full or something times out,
- more than ten times the observed time is asked for.

It is never a measurement. It holds as long as nothing changes, which no measurement can promise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taut.analysis.drift import LEAST_ROWS, trend_of
from taut.core.units import digits_of, format_ns
from taut.records.documents.soak import Beyond

LEAST_EPISODES = 50
MOST_TIMES = 10.0
GAP_NS = 10_000_000
"""Late packets nearer to each other than that are of one episode."""

_THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the episodes that lie below a threshold that is tried."""
_SHAPE_ERRORS = 2.0
_FIT = 0.05
N_SIMULATED = 99
"""Samples that are drawn and fitted again: a fit takes some ten milliseconds."""
_AT_THE_LIMIT = 3
_NEAR = 1e-3
_APART = 2.0
_HOUR_NS = 3_600_000_000_000

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Episodes:
    """The slowest packet of each episode, in order of time."""

    at_ns: Reals
    max_ns: Reals


def episodes_of(received_ns: npt.NDArray[np.int64], latency_ns: npt.NDArray[np.int64]) -> Episodes:
    """Put packets that came back near to each other together."""
    order = np.argsort(received_ns, kind="stable")
    at, late = received_ns[order].astype(np.float64), latency_ns[order].astype(np.float64)
    if not at.size:
        return Episodes(at, late)
    first = np.flatnonzero(np.diff(at, prepend=-np.inf) > GAP_NS)
    return Episodes(at[first], np.maximum.reduceat(late, first))


def extrapolate(
    found: Episodes,
    observed_ns: int,
    wanted_ns: Sequence[int],
    seed: int,
    n_simulated: int = N_SIMULATED,
) -> Beyond:
    """Say what maximum is to be expected in each wanted time, or why nothing is said."""
    most_ns = MOST_TIMES * observed_ns
    if any(wanted > most_ns for wanted in wanted_ns):
        return Beyond(f"more than {MOST_TIMES:g} times the observed time is asked for")
    if found.max_ns.size < LEAST_EPISODES:
        n = found.max_ns.size
        return Beyond(f"{n} episodes; {LEAST_EPISODES} are needed", n_episodes=n)
    if (why := _drifts(found, observed_ns)) is not None:
        return Beyond(why, n_episodes=found.max_ns.size)
    if (why := _has_a_limit(found.max_ns) or _has_two_bands(found.max_ns)) is not None:
        return Beyond(why, n_episodes=found.max_ns.size)
    tail = _stable_tail(found.max_ns)
    if isinstance(tail, str):
        return Beyond(tail, n_episodes=found.max_ns.size)
    p = _p_of_fit(tail, seed, n_simulated)
    if p < _FIT:
        return Beyond(
            f"no one distribution fits the episodes (Anderson-Darling, p = {p:.2g}): they are of "
            "more than one kind",
            n_episodes=len(tail.above),
        )
    levels = {
        f"{digits_of(wanted / _HOUR_NS)} h": _level(tail, wanted / observed_ns, seed, n_simulated)
        for wanted in wanted_ns
    }
    return Beyond(
        refused=None,
        n_episodes=len(tail.above),
        threshold_ns=round(tail.threshold),
        shape=tail.shape,
        scale_ns=tail.scale,
        p_value=p,
        levels_ns=levels,
    )


@dataclass(frozen=True)
class _Tail:
    """Excesses over a threshold, and what was fitted to them."""

    threshold: float
    above: Reals
    shape: float
    scale: float

    @property
    def shape_error(self) -> float:
        """The standard error of the shape (Smith 1987)."""
        return max(1 + self.shape, 0.1) / float(np.sqrt(len(self.above)))


def _fit(maxima: Reals, threshold: float) -> _Tail:
    # Here, not above: it takes as long to load as all the rest.
    from scipy.stats import genpareto

    above = maxima[maxima > threshold] - threshold
    shape, _, scale = genpareto.fit(above, floc=0)
    return _Tail(threshold, above, float(shape), float(scale))


def _stable_tail(maxima: Reals) -> "_Tail | str":
    """Give the lowest threshold whose shape all higher ones agree with."""
    tails = []
    for share in _THRESHOLDS:
        threshold = float(np.quantile(maxima, share))
        if np.count_nonzero(maxima > threshold) < LEAST_EPISODES:
            break
        tails.append(_fit(maxima, threshold))
    if not tails:
        n = int(np.count_nonzero(maxima > np.quantile(maxima, _THRESHOLDS[0])))
        return f"{n} episodes above a threshold; {LEAST_EPISODES} are needed"
    for i, tail in enumerate(tails):
        later = tails[i + 1 :]
        if all(abs(tail.shape - o.shape) <= _SHAPE_ERRORS * o.shape_error for o in later):
            return tail
    return "the shape of the tail changes with the threshold: it has a knee"


def _drifts(found: Episodes, observed_ns: int) -> str | None:
    """Say that episodes became larger or more frequent; in forty equal parts of the time."""
    n_parts = 40
    part = np.minimum((found.at_ns * n_parts / observed_ns).astype(int), n_parts - 1)
    counts = np.bincount(np.maximum(part, 0), minlength=n_parts).astype(float)
    hours = [float(i) for i in range(n_parts)]
    if trend_of("n", hours, counts.tolist()).verdict in ("increasing", "decreasing"):
        return "the episodes drift: how many there are changes with time"
    step = max(1, found.max_ns.size // n_parts)
    size = [float(np.median(found.max_ns[i : i + step])) for i in range(0, found.max_ns.size, step)]
    if len(size) >= LEAST_ROWS and trend_of(
        "max", [float(i) for i in range(len(size))], size
    ).verdict in ("increasing", "decreasing"):
        return "the episodes drift: how large they are changes with time"
    return None


def _has_a_limit(maxima: Reals) -> str | None:
    """Say that the largest stand at one value."""
    largest = maxima.max()
    n = int(np.count_nonzero(maxima >= largest * (1 - _NEAR)))
    if n >= _AT_THE_LIMIT:
        return f"{n} episodes stand at the maximum itself, as where a ring is full or a time is up"
    return None


def _has_two_bands(maxima: Reals) -> str | None:
    """Say that there are episodes below and above a wide empty range: two mechanisms."""
    few = len(maxima) // 20
    ordered = np.sort(maxima)[few : len(maxima) - few]
    ratios = ordered[1:] / np.maximum(ordered[:-1], 1)
    at = int(np.argmax(ratios))
    if ratios[at] < _APART:
        return None
    low, high = format_ns(ordered[at]), format_ns(ordered[at + 1])
    return f"two bands: no episode lies between {low} and {high}, so they are of two kinds"


def _anderson(above: Reals, shape: float, scale: float) -> float:
    """Give how far a sample lies from a distribution, the tail weighing most."""
    from scipy.stats import genpareto

    n = len(above)
    u = np.clip(genpareto.cdf(np.sort(above), shape, scale=scale), 1e-12, 1 - 1e-12)
    i = np.arange(1, n + 1)
    return float(-n - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))))


def _p_of_fit(tail: _Tail, seed: int, n_simulated: int) -> float:
    """Simulate: the parameters were fitted to the same sample, so no table has the answer."""
    from scipy.stats import genpareto

    rng = np.random.default_rng(seed)
    own = _anderson(tail.above, tail.shape, tail.scale)
    n_worse = 0
    for _ in range(n_simulated):
        sample = genpareto.rvs(tail.shape, scale=tail.scale, size=len(tail.above), random_state=rng)
        shape, _, scale = genpareto.fit(sample, tail.shape, floc=0, scale=tail.scale)
        n_worse += _anderson(sample, float(shape), float(scale)) >= own
    return (n_worse + 1) / (n_simulated + 1)


def _level(tail: _Tail, times: float, seed: int, n_simulated: int) -> tuple[int, int, int]:
    """Give the maximum to be expected in so many times the observed time, and its 95 % interval.

    The interval is of the fit alone: of samples drawn again with replacement.
    """
    from scipy.stats import genpareto

    def level(shape: float, scale: float) -> float:
        return float(tail.threshold + genpareto.isf(1 / (times * n), shape, scale=scale))

    n = len(tail.above)
    rng = np.random.default_rng(seed + 1)
    drawn = []
    for _ in range(n_simulated):
        again = rng.choice(tail.above, n)
        shape, _, scale = genpareto.fit(again, tail.shape, floc=0, scale=tail.scale)
        drawn.append(level(float(shape), float(scale)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return round(level(tail.shape, tail.scale)), round(float(low)), round(float(high))
