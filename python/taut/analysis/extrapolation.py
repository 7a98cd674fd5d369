"""What the slowest packet of a longer time may be: maxima of blocks of time, with refusals.

The slowest packets of stretches of time of one length follow a generalised extreme value
distribution where many independent episodes fall into each, nothing changes and one mechanism makes
them (Fisher & Tippett 1928, Gnedenko 1943). Rows of a soak count every packet, so their maxima are
whole whatever was recorded: of stalls near to each other the recorder keeps the longer ones. A
block is so many rows that the fitted shape is that of longer blocks, too; and of thousands of rows
so many that there are 2000 blocks at most, for memory and time. Nothing is said where

- there are fewer than 50 blocks,
- the maxima drift (Mann-Kendall),
- they are of two kinds: two bands with nothing between, no such distribution fits
  (Anderson-Darling), or the shape never settles,
- the largest ones stand at one value, as where a ring is full or something times out.

It is never a measurement. It holds as long as nothing changes, which no measurement can promise.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from taut.analysis.drift import trend_of
from taut.core.units import digits_of, format_ns
from taut.records.documents.soak import Beyond

LEAST_BLOCKS = 50
MOST_BLOCKS = 2_000
"""999 samples of so many, and what is computed of them at once, take some 120 MB."""
_TIMES = 10
"""How many times the measured time is looked at."""

_ROWS = (1, 2, 4, 8)
"""Of a block: the lengths that are tried."""
_SHAPE_ERRORS = 2.0
_SHAPE_SPREAD = 0.75
"""The standard error of the shape times the root of the number of maxima, at shape 0 (Hosking,
Wallis & Wood 1985)."""
_FIT = 0.05
N_SIMULATED = 999
_AT_THE_LIMIT = 3
_NEAR = 1e-3
_APART = 2.0
_HOUR_NS = 3_600_000_000_000

Reals = npt.NDArray[np.float64]


def extrapolate(
    maxima_ns: Sequence[float],
    row_ns: float,
    seed: int,
    n_simulated: int = N_SIMULATED,
) -> Beyond:
    """Say what is reached once on average in ten times their time, or why nothing is said.

    `maxima_ns` are those of rows of `row_ns` each, in order of time.
    """
    n = len(maxima_ns)
    if n < LEAST_BLOCKS:
        return Beyond(f"{n} rows; {LEAST_BLOCKS} are needed", n_blocks=n)
    rows = np.asarray(maxima_ns, np.float64)
    if (why := _has_a_limit(rows)) is not None:
        return Beyond(why, n_blocks=n)
    n_together = -(-n // MOST_BLOCKS)
    rows, row_ns = _blocks(rows, n_together), n_together * row_ns
    n = len(rows)
    if (why := _drifts(rows) or _has_two_bands(rows)) is not None:
        return Beyond(why, n_blocks=n)
    n_rows = _settled(rows)
    if n_rows is None:
        return Beyond("the shape changes with the length of a block: it has a knee", n_blocks=n)
    maxima, block_ns, wanted_ns = _blocks(rows, n_rows), n_rows * row_ns, _TIMES * n * row_ns
    fit = _fit(maxima)
    again = _drawn(fit, seed, n_simulated, len(maxima))
    fits = _fit(again)
    # The parameters were fitted to the same sample, so no table has the answer.
    n_worse = int(np.sum(_anderson(again, fits) >= _anderson(maxima, fit)))
    p = (n_worse + 1) / (n_simulated + 1)
    if p < _FIT:
        return Beyond(
            f"no one distribution fits the maxima (Anderson-Darling, p = {p:.2g}): they are of "
            "more than one kind",
            n_blocks=len(maxima),
        )
    return Beyond(
        refused=None,
        n_blocks=len(maxima),
        block_ns=round(block_ns),
        location_ns=float(fit.location[0]),
        shape=float(fit.shape[0]),
        scale_ns=float(fit.scale[0]),
        p_value=p,
        levels_ns={f"{digits_of(wanted_ns / _HOUR_NS)} h": _level(fit, fits, block_ns / wanted_ns)},
    )


class _Fit(NamedTuple):
    """Generalised extreme value distributions, one a row; a shape above 0 has a heavy tail."""

    location: Reals
    scale: Reals
    shape: Reals

    def at(self, exceeded: Reals | float) -> Reals:
        """Give the value that is exceeded with a probability."""
        return self.location + self.scale * (
            np.expm1(-self.shape * np.log(-np.log1p(-exceeded))) / self.shape
        )

    def below(self, values: Reals) -> Reals:
        """Give the probability of a value, or one below it."""
        inner = np.maximum(1 + self.shape * (values - self.location) / self.scale, 1e-300)
        return np.exp(-np.exp(np.minimum(-np.log(inner) / self.shape, 700)))


def _fit(maxima: Reals) -> _Fit:
    """Fit by L-moments (Hosking 1985), which few maxima bias less than the likelihood."""
    from scipy.special import gamma

    ordered = np.sort(maxima, axis=-1)
    n = ordered.shape[-1]
    i = np.arange(n)
    b0 = ordered.mean(axis=-1, keepdims=True)
    b1 = (ordered * (i / (n - 1))).mean(axis=-1, keepdims=True)
    b2 = (ordered * (i * (i - 1) / ((n - 1) * (n - 2)))).mean(axis=-1, keepdims=True)
    second, third = 2 * b1 - b0, 6 * b2 - 6 * b1 + b0
    c = 2 / (3 + third / second) - log(2) / log(3)
    k = 7.8590 * c + 2.9554 * c * c
    k = np.where(np.abs(k) < 1e-6, 1e-6, k)  # At 0 all that follows is 0 / 0.
    scale = second * k / ((1 - 2.0**-k) * gamma(1 + k))
    return _Fit(b0 - scale * (1 - gamma(1 + k)) / k, scale, -k)


def _drawn(fit: _Fit, seed: int, n_samples: int, n: int) -> Reals:
    """Draw samples of a fitted distribution, one a row."""
    return fit.at(np.random.default_rng(seed).uniform(size=(n_samples, n)))


def _anderson(maxima: Reals, fit: _Fit) -> Reals:
    """Give how far each sample lies from its distribution, the tails weighing most."""
    n = maxima.shape[-1]
    u = np.clip(fit.below(np.sort(maxima, axis=-1)), 1e-12, 1 - 1e-12)
    weights = 2 * np.arange(1, n + 1) - 1
    found: Reals = -n - np.mean(weights * (np.log(u) + np.log1p(-u[..., ::-1])), axis=-1)
    return found


def _level(fit: _Fit, fits: _Fit, share: float) -> tuple[int, int, int]:
    """Give what a share of the blocks exceeds, and its 95 % interval: that of the fit alone."""
    low, high = np.quantile(fits.at(share), [0.025, 0.975])
    return round(float(fit.at(share)[0])), round(float(low)), round(float(high))


def _blocks(rows: Reals, n_rows: int) -> Reals:
    """Give the maxima of so many rows each; what is left at the end is no block."""
    n = len(rows) // n_rows
    found: Reals = rows[: n * n_rows].reshape(n, n_rows).max(axis=1)
    return found


def _settled(rows: Reals) -> int | None:
    """Give the least number of rows whose shape all longer blocks agree with; None: there is none.

    The longest blocks have nothing to agree with, and count where no others can be tried.
    """
    tried = [n for n in _ROWS if len(rows) // n >= LEAST_BLOCKS]
    shapes = {n: float(_fit(_blocks(rows, n)).shape[0]) for n in tried}
    for n in tried[:-1] or tried:
        errors = {o: _SHAPE_SPREAD / np.sqrt(len(rows) // o) for o in tried if o > n}
        if all(abs(shapes[n] - shapes[o]) <= _SHAPE_ERRORS * e for o, e in errors.items()):
            return n
    return None


def _drifts(rows: Reals) -> str | None:
    verdict = trend_of("max", [float(i) for i in range(len(rows))], rows.tolist()).verdict
    if verdict == "none":
        return None
    return "the maxima of rows drift: how large they are changes with time"


def _has_a_limit(maxima: Reals) -> str | None:
    """Say that the largest stand at one value."""
    largest = maxima.max()
    n = int(np.count_nonzero(maxima >= largest * (1 - _NEAR)))
    if n >= _AT_THE_LIMIT:
        return f"{n} rows stand at the maximum itself, as where a ring is full or a time is up"
    return None


def _has_two_bands(maxima: Reals) -> str | None:
    """Say that there are maxima below and above a wide empty range: two mechanisms."""
    few = len(maxima) // 20
    ordered = np.sort(maxima)[few : len(maxima) - few]
    ratios = ordered[1:] / np.maximum(ordered[:-1], 1)
    at = int(np.argmax(ratios))
    if ratios[at] < _APART:
        return None
    low, high = format_ns(ordered[at]), format_ns(ordered[at + 1])
    return f"two bands: no row's maximum lies between {low} and {high}, so they are of two kinds"
