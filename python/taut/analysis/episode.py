"""Episodes: packets in a row that were late for one reason are one event, not many.

A packet is late when its service latency is above the threshold; by default ten times the median
and at least 20 us above it.  An episode is a run of packets, successive in one direction, each
late, lost or refused by the transmit call, with at least one late one.  It lasts from the sending
of its first packet to the receipt of its last.  A device that stops for 5 ms at 100 kpkt/s makes
one episode of 5 ms that hits 500 packets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taut.records import parquet
from taut.records.documents.json_form import parse
from taut.records.documents.results import EpisodeOfTrial, Episodes, GapOverlap
from taut.storage.engine import Engine

WORST = 50
"""Episodes listed one by one, longest first; all are counted."""


@dataclass(frozen=True)
class Threshold:
    """What counts as late; every report prints it."""

    factor: int = 10
    least_above_ns: int = 20_000

    def at(self, p50_ns: int) -> int:
        """The latency above which a packet is late."""
        return max(self.factor * p50_ns, p50_ns + self.least_above_ns)


def find_episodes(engine: Engine, gaps: Path | None, threshold_ns: int) -> Episodes:
    """Group late packets of table `packet`; say which logged gaps (None: no log) they overlap."""
    engine.define("hit", _HIT.format(threshold_ns=threshold_ns))
    engine.define("island", _ISLAND)
    totals = engine.query(_TOTAL).to_pylist()[0]
    rows = engine.query(f"{_WORST} LIMIT {WORST}").to_pylist()
    longest = [{name: int(n) for name, n in row.items() if n is not None} for row in rows]
    return with_gaps(gaps, threshold_ns, totals, longest)


def with_gaps(
    gaps: Path | None,
    threshold_ns: int,
    totals: Mapping[str, int | None],
    longest: Sequence[Mapping[str, int]],
) -> Episodes:
    """Give the episodes that were found, the longest ones with the logged gaps they overlap."""
    overlaps: Sequence[_Overlaps] = [{} for _ in longest]
    if gaps is not None:
        overlaps = _overlaps(longest, gaps)
    worst = [
        parse(EpisodeOfTrial, {**row, "void": _void_word(row), "gaps": of_row}, "episode")
        for row, of_row in zip(longest, overlaps, strict=True)
    ]
    worst.sort(key=lambda e: (-e.duration_ns, e.start_ns, e.direction))
    return Episodes(
        threshold_ns=threshold_ns,
        **{name: int(value or 0) for name, value in totals.items()},
        worst=tuple(worst),
    )


# A packet of the warm-up opens no episode: cold packets have a row of their own.
_HIT = """
SELECT seq, direction, sent_ns, received_ns, is_void,
    received_ns IS NOT NULL AND received_ns - sent_ns > {threshold_ns} AS is_late,
    CASE WHEN received_ns IS NULL THEN NULL ELSE received_ns - sent_ns END AS latency_ns,
    due_ns, is_unsent,
    seq - ROW_NUMBER() OVER (PARTITION BY direction ORDER BY seq) AS island
FROM packet
WHERE NOT is_cold AND (received_ns IS NULL OR received_ns - sent_ns > {threshold_ns})"""

_ISLAND = """
SELECT direction, MIN(due_ns) AS due_ns, MIN(COALESCE(sent_ns, due_ns)) AS start_ns,
    MAX(received_ns) AS end_ns, MAX(received_ns) - MIN(COALESCE(sent_ns, due_ns)) AS duration_ns,
    MAX(latency_ns) AS depth_ns, MIN(seq) AS first_seq, COUNT(*) AS packets,
    SUM(CASE WHEN is_late THEN 1 ELSE 0 END) AS late,
    SUM(CASE WHEN received_ns IS NULL AND NOT is_unsent THEN 1 ELSE 0 END) AS lost,
    SUM(CASE WHEN is_unsent THEN 1 ELSE 0 END) AS unsent,
    SUM(CASE WHEN is_void THEN 1 ELSE 0 END) AS void_packets
FROM hit
GROUP BY direction, island"""

_TOTAL = """
SELECT COUNT(CASE WHEN late > 0 THEN 1 END) AS n,
    SUM(CASE WHEN late > 0 THEN packets ELSE 0 END) AS packets,
    SUM(CASE WHEN late > 0 THEN lost ELSE 0 END) AS lost,
    SUM(CASE WHEN late > 0 THEN unsent ELSE 0 END) AS unsent,
    COUNT(CASE WHEN late > 0 AND void_packets > 0 THEN 1 END) AS touched_by_void,
    COUNT(CASE WHEN late > 0 AND void_packets = packets THEN 1 END) AS all_void,
    MAX(CASE WHEN late > 0 THEN duration_ns ELSE 0 END) AS longest_ns,
    MAX(CASE WHEN late > 0 THEN depth_ns ELSE 0 END) AS deepest_ns,
    COUNT(CASE WHEN late = 0 AND lost > 0 THEN 1 END) AS loss_bursts,
    MAX(CASE WHEN late = 0 THEN lost ELSE 0 END) AS longest_loss_burst
FROM island
ORDER BY n"""

_WORST = """
SELECT direction, due_ns, start_ns, end_ns, duration_ns, depth_ns, first_seq, packets, late, lost,
    unsent, void_packets
FROM island
WHERE late > 0
ORDER BY duration_ns DESC, start_ns, direction"""

_Overlaps = dict[str, GapOverlap]
"""Of one episode, by the thread that had the gaps."""


def _overlaps(episodes: Sequence[Mapping[str, int]], gaps: Path) -> Sequence[_Overlaps]:
    """How much of each episode lies in logged gaps of the generator and the forwarder."""
    found: Sequence[_Overlaps] = [{} for _ in episodes]
    with parquet.opened(gaps) as file:
        for batch in file.iter_batches(columns=["start_ns", "end_ns", "thread"]):
            starts, ends = (batch[name].to_numpy() for name in ("start_ns", "end_ns"))
            for episode, of_episode in zip(episodes, found, strict=True):
                hit = (starts < episode["end_ns"]) & (ends > episode["start_ns"])
                for at in np.flatnonzero(hit).tolist():
                    overlap_ns = min(int(ends[at]), episode["end_ns"]) - max(
                        int(starts[at]), episode["start_ns"]
                    )
                    thread = batch["thread"][at].as_py()
                    before = of_episode.get(thread, GapOverlap(0, 0))
                    of_episode[thread] = GapOverlap(before.n + 1, before.overlap_ns + overlap_ns)
    return [dict(sorted(of_episode.items())) for of_episode in found]


def _void_word(row: Mapping[str, int]) -> str:
    if not row["void_packets"]:
        return "none"
    return "all" if row["void_packets"] == row["packets"] else "some"
