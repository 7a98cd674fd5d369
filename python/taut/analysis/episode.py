"""Episodes: packets in a row that were late for one reason are one event, not many.

A packet is late when its service latency is above the threshold; by default ten times the median
and at least 20 us above it.  An episode is a run of packets, successive in one direction, each
late, lost or refused by the transmit call, with at least one late one.  It lasts from the sending
of its first packet to the receipt of its last.  A device that stops for 5 ms at 100 kpkt/s makes
one episode of 5 ms that hits 500 packets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

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
    worst = engine.query(f"{_WORST} LIMIT {WORST}")
    return with_gaps(engine, gaps, threshold_ns, totals, worst)


def with_gaps(
    engine: Engine,
    gaps: Path | None,
    threshold_ns: int,
    totals: Mapping[str, int | None],
    longest: pa.Table,
) -> Episodes:
    """Give the episodes that were found, the longest ones with the logged gaps they overlap.

    `longest` has the columns of EPISODE_SCHEMA.
    """
    engine.load({"episode": longest})
    rows = engine.query("SELECT * FROM episode ORDER BY start_ns, direction").to_pylist()
    overlaps = _overlaps(engine, gaps)
    worst = [
        parse(
            EpisodeOfTrial,
            {
                **{name: int(value) for name, value in row.items() if value is not None},
                "void": _void_word(row),
                "gaps": overlaps.get((int(row["direction"]), int(row["first_seq"])), {}),
            },
            "episode",
        )
        for row in rows
    ]
    worst.sort(key=lambda e: (-e.duration_ns, e.start_ns))
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

EPISODE_SCHEMA = pa.schema(
    [
        (name, pa.int64())
        for name in (
            *("direction", "due_ns", "start_ns", "end_ns", "duration_ns", "depth_ns", "first_seq"),
            *("packets", "late", "lost", "unsent", "void_packets"),
        )
    ]
)

_OVERLAP = """
SELECT e.direction AS direction, e.first_seq AS first_seq, g.thread AS thread, COUNT(*) AS n,
    CAST(SUM(CASE WHEN g.end_ns < e.end_ns THEN g.end_ns ELSE e.end_ns END
        - CASE WHEN g.start_ns > e.start_ns THEN g.start_ns ELSE e.start_ns END) AS BIGINT)
        AS overlap_ns
FROM episode e
JOIN gap g ON g.start_ns < e.end_ns AND g.end_ns > e.start_ns
GROUP BY e.direction, e.first_seq, g.thread
ORDER BY e.direction, e.first_seq, g.thread"""

_Overlaps = dict[tuple[int, int], dict[str, GapOverlap]]


def _overlaps(engine: Engine, gaps: Path | None) -> _Overlaps:
    """How much of each listed episode lies in logged gaps of the generator and the forwarder."""
    if gaps is None:
        return {}
    engine.load({"gap": gaps})
    found: _Overlaps = {}
    for row in engine.query(_OVERLAP).to_pylist():
        by_thread = found.setdefault((int(row["direction"]), int(row["first_seq"])), {})
        by_thread[row["thread"]] = GapOverlap(int(row["n"]), int(row["overlap_ns"]))
    return found


def _void_word(row: dict[str, int]) -> str:
    if not row["void_packets"]:
        return "none"
    return "all" if row["void_packets"] == row["packets"] else "some"
