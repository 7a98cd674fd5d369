"""What a running generator has counted so far, read where it counts: `taut-generate --publish`.

DIR/live leads to a file in memory (dataplane/record/live_format.h). Reading it costs the generator
nothing; on its own core it costs the time of the copy, so that is made in pieces with rests.
"""

import mmap
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from taut.core.binaries import how_to_get
from taut.core.errors import InputError
from taut.records import layout
from taut.records.documents.generator import warm_count

LIVE_FILE = "live"
VERSION = 1
_MAGIC = b"TAUTLIV"

_PIECE = 1 << 13
"""Numbers copied at a time: 64 KiB, some ten microseconds."""

PAUSE_S = 0.001

Counts: TypeAlias = npt.NDArray[np.uint64]
"""How many packets by bucket of their latency."""

Rest = Callable[[], None]


def rest_a_moment() -> None:
    """Give the core back between two pieces of work."""
    time.sleep(PAUSE_S)


class Gaps(NamedTuple):
    """When the generator's loop stood still."""

    n: int
    total_ns: int
    max_ns: int


@dataclass(frozen=True)
class Buckets:
    """Where the buckets of a histogram lie, in ticks of a clock."""

    n: int
    exact_bits: int
    sub_bits: int
    tsc_hz: int

    def bounds_ns(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Give the least latency of each bucket, in ns."""
        return self._ticks(index).astype(np.float64) * (1e9 / self.tsc_hz)

    def last_ns(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Give the greatest latency of each bucket, in ns."""
        return (self._ticks(index + 1) - 1).astype(np.float64) * (1e9 / self.tsc_hz)

    def _ticks(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Give the least latency of each bucket (dataplane/base/histogram.c)."""
        above = index - (1 << self.exact_bits)
        octave = self.exact_bits + (above >> self.sub_bits)
        sub = above & ((1 << self.sub_bits) - 1)
        width = np.left_shift(1, np.maximum(octave - self.sub_bits, 0))
        return np.where(above < 0, index, (sub + (1 << self.sub_bits)) * width)


class Live:
    """One generator's counters and latencies, of both directions together."""

    def __init__(self, path: Path) -> None:
        """InputError: it shows nothing, or is of another version."""
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path}: no generator shows what it counts there: {error}; it has ended"
            ) from None
        # Views of the map, not copies: they show what is counted now.
        self._header = np.frombuffer(self._map, layout.LIVE, count=1)
        header = self._header[0]
        if header["magic"] != _MAGIC or header["version"] != VERSION:
            raise InputError(
                f"{path}: of another version than taut; {how_to_get()}, then measure again"
            )
        # No slice to the end: it would copy all histograms at once.
        names_at = int(header["names_at"])
        names = self._map[names_at : self._map.find(b"\0", names_at)]
        self.names = tuple(names.decode().split())
        n = range(int(header["n_directions"]))
        at = header["counters_at"]
        self._counters = [self._numbers(at[i], int(header["n_counters"])) for i in n]
        self._gaps = self._numbers(header["gaps_at"], 4)
        n_buckets = int(header["n_buckets"])
        held = header["histograms_at"]
        self._histograms = tuple(
            [self._numbers(held[i][is_void], n_buckets) for i in n] for is_void in (0, 1)
        )
        self.tsc_hz = int(header["tsc_hz"])
        self.run_id = int(header["run_id"])
        self.warm_up_ns = int(header["warm_up_ns"])
        duration_ns = int(header["duration_ns"])
        self.duration_ns = None if duration_ns == (1 << 64) - 1 else duration_ns
        self.buckets = Buckets(
            n_buckets, int(header["exact_bits"]), int(header["sub_bits"]), self.tsc_hz
        )

    def _numbers(self, at: int, n: int) -> Counts:
        return np.frombuffer(self._map, np.uint64, count=n, offset=int(at))

    @property
    def has_started(self) -> bool:
        """Whether packets are sent."""
        return int(self._header["epoch_tsc"][0]) != 0

    @property
    def has_ended(self) -> bool:
        """Whether all is counted."""
        return int(self._header["end_tsc"][0]) != 0

    def elapsed_ns(self) -> int:
        """Give the time since the first departure; of one that has ended, until its end."""
        header = self._header[0]
        epoch, end = int(header["epoch_tsc"]), int(header["end_tsc"])
        if not epoch:
            return 0
        if end:
            return round((end - epoch) * 1e9 / self.tsc_hz)
        first = header["first"]
        since_first_ns = (epoch - int(first["tsc"])) * 1e9 / self.tsc_hz
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return max(0, round(now_ns - int(first["mono_raw_ns"]) - since_first_ns))

    def counters(self) -> dict[str, int]:
        """Give the counters now, the warm-up's packets among them."""
        values = sum(one.astype(np.int64) for one in self._counters)
        return dict(zip(self.names, np.atleast_1d(values).tolist(), strict=True))

    def gaps(self) -> Gaps:
        """Give the gaps so far."""
        n, _, total, longest = (int(value) for value in self._gaps)
        return Gaps(n, round(total * 1e9 / self.tsc_hz), round(longest * 1e9 / self.tsc_hz))

    def add_latencies(self, seen: Counts, rest: Rest, *, is_void: bool) -> "Fresh":
        """Bring `seen` up to what is counted after the warm-up; give what is new, by bucket."""
        indices, counts = [], []
        for start in range(0, self.buckets.n, _PIECE):
            end = min(start + _PIECE, self.buckets.n)
            now = self._histograms[is_void][0][start:end].copy()
            for other in self._histograms[is_void][1:]:
                now += other[start:end]
            fresh = now - seen[start:end]
            some = np.flatnonzero(fresh)
            if some.size:
                indices.append(some + start)
                counts.append(fresh[some])
                seen[start:end] = now
            rest()
        if not indices:
            return Fresh(np.empty(0, np.int64), np.empty(0, np.uint64))
        return Fresh(np.concatenate(indices), np.concatenate(counts))


@dataclass(frozen=True)
class Fresh:
    """Packets by bucket, buckets in order, none of them empty."""

    index: npt.NDArray[np.int64]
    count: Counts

    @property
    def n(self) -> int:
        return int(self.count.sum())


COUNTED = (
    "lost_void",
    "late",
    "duplicates",
    "orphans",
    "out_of_sequence",
    "foreign",
)
"""Counters of a row that stand as the generator has them."""


def counted(c: Mapping[str, int]) -> dict[str, int]:
    """Take the warm-up's packets out of a generator's counters.

    A packet counts when its fate is known: what is in flight belongs to the next row.
    """
    warm = {
        "due": c["matched"] + c["lost"] + c["unsent"] - c["cold"],
        "sent": c["matched"] + c["lost"] - (c["cold"] - c["unsent_cold"]),
    } | {name: warm_count(c, name) for name in ("unsent", "lost", "void")}
    return warm | {name: c[name] for name in COUNTED}


def live_path(trial: Path) -> Path | None:
    """Give where the generator of a trial that is under way shows what it counts; None: nowhere."""
    path = trial / "raw" / LIVE_FILE
    return path if os.path.lexists(path) else None
