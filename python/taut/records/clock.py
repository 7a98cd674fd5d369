"""Ticks to nanoseconds: the straight line through a run's first and last clock point."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class ClockFit:
    """Time 0 is epoch_tsc. float64 holds twelve hours of nanoseconds to 0.01 ns."""

    epoch_tsc: int
    ns_per_tick: float

    def times_ns(self, tsc: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Raw TSC values (u64) as nanoseconds since the epoch, to the nearest."""
        # The difference modulo 2^64 read as signed is right on both sides of the epoch.
        ticks = (tsc.astype(np.uint64) - np.uint64(self.epoch_tsc)).view(np.int64)
        return self.spans_ns(ticks)

    def spans_ns(self, ticks: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Distances in ticks as nanoseconds, to the nearest."""
        if self.ns_per_tick == 1:
            # Captures count nanoseconds: nothing to convert, nothing to round.
            return ticks.astype(np.int64)
        return np.rint(ticks.astype(np.float64) * self.ns_per_tick).astype(np.int64)


def fit_of(header: np.void) -> ClockFit:
    """Fit from the header's clock points; the nominal rate when the writer died without a last."""
    first, last = header["first"], header["last"]
    ticks = int(last["tsc"]) - int(first["tsc"])
    elapsed_ns = int(last["mono_raw_ns"]) - int(first["mono_raw_ns"])
    if ticks > 0 and elapsed_ns > 0:
        return ClockFit(int(header["epoch_tsc"]), elapsed_ns / ticks)
    return ClockFit(int(header["epoch_tsc"]), 1e9 / int(header["nominal_tsc_hz"]))
