"""Ticks to nanoseconds: the straight line through a run's first and last clock point."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from taut.core.errors import InputError

Ticks: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.int64]

# From a thousand ticks a nanosecond to a thousand a second: every clock there is, and no other.
_LEAST_NS_PER_TICK, _MOST_NS_PER_TICK = 1e-3, 1e6


@dataclass(frozen=True)
class ClockFit:
    """Turns TSC values into ns since epoch_tsc; float64 holds twelve hours of ns to 0.01 ns."""

    epoch_tsc: int
    ns_per_tick: float

    def times_ns(self, tsc: Ticks) -> npt.NDArray[np.int64]:
        """Raw TSC values (u64) as nanoseconds since the epoch, to the nearest."""
        # The difference modulo 2^64 read as signed is right on both sides of the epoch.
        ticks = (tsc.astype(np.uint64) - np.uint64(self.epoch_tsc)).view(np.int64)
        return self.spans_ns(ticks)

    def spans_ns(self, ticks: Ticks) -> npt.NDArray[np.int64]:
        """Distances in ticks as nanoseconds, to the nearest."""
        if self.ns_per_tick == 1:
            # Captures count nanoseconds: nothing to convert, nothing to round.
            return ticks.astype(np.int64)
        try:
            with np.errstate(invalid="raise"):
                return np.rint(ticks.astype(np.float64) * self.ns_per_tick).astype(np.int64)
        except FloatingPointError:
            raise InputError(
                "records: a time centuries away from the run's start; the files are damaged"
            ) from None


def fit_of(header: np.void) -> ClockFit:
    """Fit a line through the header's two clock points.

    Without a last one (the writer died) the nominal rate is used. InputError where the rate is
    none that a clock can have.
    """
    first, last = header["first"], header["last"]
    ticks = int(last["tsc"]) - int(first["tsc"])
    elapsed_ns = int(last["mono_raw_ns"]) - int(first["mono_raw_ns"])
    if ticks > 0 and elapsed_ns > 0:
        ns_per_tick = elapsed_ns / ticks
    else:
        ns_per_tick = 1e9 / max(int(header["nominal_tsc_hz"]), 1)
    if not _LEAST_NS_PER_TICK <= ns_per_tick <= _MOST_NS_PER_TICK:
        raise InputError(
            f"records: a header with a tick of {ns_per_tick:.3g} ns; the file is damaged"
        )
    return ClockFit(int(header["epoch_tsc"]), ns_per_tick)
