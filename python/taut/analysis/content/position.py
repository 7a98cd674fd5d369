"""Runs of neighbours that differ from the rest by far: told by their place, not by their content.

The first packets of a capture meet cold caches, the last ones a generator that stops, an episode
hits whoever comes by. Such runs hold whatever their packets happen to hold, so that no search by
content may name them; but they are in the tail, and a reader wants to know where they are.

Far is 10 times the usual spread about the median, and 10 units of latency. Neighbours are
packets at most 3 places apart, and at least half of the packets from the first of a run to its last
are far: a pattern that goes through the whole capture, as of flows in turn, is no place. A run is
told if so many packets that are far would hardly (1e-3, for all runs) come together by chance,
given how many are far elsewhere; at the two ends of a capture already one may suffice.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from taut.analysis.content.heads import Ints, MatchedFrames
from taut.analysis.content.layers import Mask
from taut.records.documents.content import PositionRun, Positions

MAX_RUNS = 10
_FAR = 10  # times the spread
_PLACES_APART = 3
_LEAST_FAR = 0.5  # of the packets from a run's first to its last
_ALLOWED_ERROR = 1e-3
_SPREAD_OF_MAD = 1.4826  # of a normal distribution
_WAYS = 4  # two directions, and the ends beside the inside


class _Run(NamedTuple):
    direction: str
    places: Ints
    """Of the packets that are far, in order."""
    excess_ns: int


def find_positions(frames: MatchedFrames, alive: Mask, resolution_ns: int = 1) -> Positions:
    """Find runs in the first capture, among the packets that no class explains.

    `resolution_ns` is the unit of its latencies, the least spread that they can show.
    """
    latency_ns = frames.latency_ns[frames.captures[0]]
    above_ns = latency_ns - int(np.median(latency_ns))
    spread_ns = max(_SPREAD_OF_MAD * float(np.median(np.abs(above_ns))), resolution_ns)
    alive = alive[frames.captures[0]]
    runs: list[_Run] = []
    in_run = np.zeros(len(latency_ns), bool)
    for direction, excess_ns in (("slower", above_ns), ("faster", -above_ns)):
        far = np.flatnonzero((excess_ns > _FAR * spread_ns) & alive)
        for run in _improbable(direction, far, excess_ns):
            runs.append(run)
            in_run[run.places] = True
    # Never empty: half of the packets are not far from the median.
    rest_ns = int(np.median(latency_ns[~in_run]))
    most = sorted(runs, key=lambda run: -run.excess_ns)[:MAX_RUNS]
    shown = [
        _position_run(frames, latency_ns, run, rest_ns)
        for run in sorted(most, key=lambda r: int(r.places[0]))
    ]
    return Positions(shown, len(runs))


def _improbable(direction: str, far: Ints, excess_ns: Ints) -> Iterator[_Run]:
    n = len(excess_ns)
    edges = [0, *(np.flatnonzero(np.diff(far) > _PLACES_APART) + 1).tolist(), len(far)]
    for start, end in pairwise(edges):
        n_far = end - start
        if not n_far:
            continue
        first, last = int(far[start]), int(far[end - 1])
        if n_far < _LEAST_FAR * (last - first + 1):
            continue
        # One more than there are: never nought.
        share = (len(far) - n_far + 1) / n
        n_places = 1 if first == 0 or last == n - 1 else n
        follows = min(_PLACES_APART * share, 1.0)
        by_chance = np.log(n_places * share) + (n_far - 1) * np.log(follows)
        if by_chance < np.log(_ALLOWED_ERROR / _WAYS):
            places = far[start:end]
            yield _Run(direction, places, int(excess_ns[places].sum()))


def _position_run(frames: MatchedFrames, latency_ns: Ints, run: _Run, rest_ns: int) -> PositionRun:
    first, last = int(run.places[0]), int(run.places[-1])
    is_last = last == len(latency_ns) - 1
    return PositionRun(
        where="first" if first == 0 else "last" if is_last else "inside",
        direction=run.direction,
        first_position=int(frames.position[first]),
        last_position=int(frames.position[last]),
        n_packets=len(run.places),
        time_ns=int(frames.time_ns[first]),
        median_ns=int(np.median(latency_ns[run.places])),
        rest_median_ns=rest_ns,
    )
