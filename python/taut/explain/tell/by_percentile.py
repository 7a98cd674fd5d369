"""The tail by percentile: its causes in each stretch, and single packets along it.

Its size is bounded however long the trial was: the report draws a percentile plot from it.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.core.percentiles import SUPPORT
from taut.explain.arrays import Ints, Mask
from taut.explain.grades import is_guess
from taut.records.documents.explanation import ByPercentile, Stretch, TailPackets

EVERY_SLOWEST = 200
PER_DECADE = 100
"""How many packets are kept one by one for each decade of ranks; the slowest are all kept."""

_STEPS = (1, 2)  # a stretch ends at p99, p99.5, p99.9, p99.95: one packet in 100, 200, ...


def by_percentile(packets: pa.Table, n_packets: int) -> ByPercentile:
    """Sort the late packets of a tail, `n_packets` being all of the trial, into stretches."""
    late = packets.filter(packets["latency_ns"].is_valid())
    cause = late["cause"].combine_chunks().dictionary_encode()
    names: list[str] = cause.dictionary.to_pylist()
    latency = late["latency_ns"].to_numpy()
    slowest_first = np.argsort(-latency, kind="stable")
    latency = latency[slowest_first]
    number = cause.indices.to_numpy(zero_copy_only=False)[slowest_first]
    doubtful = pc.equal(late["grade"], "D").to_numpy()[slowest_first]
    guess = doubtful & np.array([is_guess(name, "D") for name in names], bool)[number]
    kept = _kept(len(latency))
    return ByPercentile(
        n=n_packets,
        bins=tuple(_bins(number, names, guess, n_packets)),
        packets=TailPackets(
            one_in=tuple(round(n_packets / place, 3) for place in (kept + 1).tolist()),
            latency_ns=tuple(latency[kept].tolist()),
            cause=tuple(names[k] for k in number[kept].tolist()),
            is_guess=tuple(guess[kept].tolist()),
        ),
    )


def _bins(number: Ints, names: list[str], guess: Mask, n_packets: int) -> list[Stretch]:
    """Causes of each stretch, the fastest first; `number` and `guess` are of the slowest first."""
    n_tail = len(number)
    if not n_tail:
        return []
    edges = _edges(n_tail, n_packets)
    places = [*(min(n_packets // edge, n_tail) for edge in edges), 0]
    found = []
    for i, (above, until) in enumerate(pairwise(places)):
        own = number[until:above]
        counts = np.bincount(own, minlength=len(names))
        guesses = np.bincount(own[guess[until:above]], minlength=len(names))
        if not counts.any():
            continue
        is_last = i + 1 == len(edges)
        found.append(
            Stretch(
                begin=_name(edges[i]),
                end="max" if is_last else _name(edges[i + 1]),
                one_in=(edges[i], n_packets if is_last else edges[i + 1]),
                packets=above - until,
                by_cause={
                    names[k]: int(counts[k])
                    for k in np.argsort(-counts, kind="stable")
                    if counts[k]
                },
                guesses={names[k]: int(guesses[k]) for k in np.flatnonzero(guesses)},
            )
        )
    return found


def _edges(n_tail: int, n_packets: int) -> list[int]:
    """Where stretches begin, as one packet in so many.

    The first holds the whole tail; each of the others has enough packets above it to say something.
    """
    every = [step * 10**decade for decade in range(len(str(n_packets))) for step in _STEPS]
    first = max(edge for edge in every if n_packets // edge >= n_tail)
    return [first, *(e for e in every if e > first and n_packets // e >= SUPPORT)]


def _name(one_in: int) -> str:
    return f"p{100 - 100 / one_in:.10g}"


def _kept(n_tail: int) -> Ints:
    """Give the places of the packets that are drawn, counted from the slowest (0)."""
    decades = np.log10(max(n_tail, 1))
    grid = np.logspace(0, decades, int(PER_DECADE * decades) + 2)
    places = np.concatenate([np.arange(EVERY_SLOWEST), np.round(grid).astype(np.int64) - 1])
    kept: Ints = np.unique(places[places < n_tail])
    return kept
