"""Packets of a variant that fail a requirement: how many, in which blocks of time, in what rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.blocks import BLOCKS, SPAN, block_length_ns, read_blocks
from taut.analysis.effective import BlockCounts, Integers, supports
from taut.analysis.tables import load_packets
from taut.analysis.trial_tables import DISTRIBUTION, Distributions
from taut.explain.tell.unexplained import LEFT_OUT
from taut.records.late import greatest_ns
from taut.records.rundir import TrialDirectory
from taut.storage.lazy import LazyEngine

_ENGINE = "duckdb"

_NEVER = np.iinfo(np.int64).max
"""The latency of a lost packet."""

EVER_NS = _NEVER - 1
"""Later than any packet that came back."""

_JITTER_NS = 10_000
"""So much later than it is due a packet may be sent, and be tried when it is due all the same."""

_ALL, _OWN = "TRUE", "NOT is_void"
"""Conditions in SQL: any packet, and one that the generator did not hold up."""

_LOST = """
SELECT sent_ns, COUNT(*) AS n
FROM packet
WHERE received_ns IS NULL AND sent_ns IS NOT NULL AND NOT is_unsent AND NOT is_cold
    AND {which}
GROUP BY sent_ns
ORDER BY sent_ns"""

# Rows of packets that failed: those between which no packet of their direction was in time. Two
# numbers of a packet, among those that count and among those of its fate, differ by the same in
# such a row. A packet is tried when it is due, for the sender's jitter is no outage; behind a
# sender that lags by more, as much later; one that the generator held up when it was sent. It is
# out of time until the next one is tried: where the row must be the device's alone, until the next
# is due, if the generator held that one up; from then on the device was not tried. What is void and
# did not come in time neither ends a row nor is counted in it. Captures do not say when packets
# were due.
_ROWS = """
SELECT direction, COUNT(*) AS n,
    SUM(GREATEST(COALESCE(next_ns, tried_ns) - tried_ns, 0))::BIGINT AS outage_ns
FROM (
    SELECT direction, tried_ns, next_ns, fate,
        ROW_NUMBER() OVER (PARTITION BY direction ORDER BY seq)
            - ROW_NUMBER() OVER (PARTITION BY direction, fate ORDER BY seq) AS row_number
    FROM (
        SELECT direction, seq, tried_ns, fate,
            LEAD(CASE WHEN {is_own} THEN tried_ns ELSE due_ns END)
                OVER (PARTITION BY direction ORDER BY seq) AS next_ns
        FROM (
            SELECT direction, seq, due_ns, is_void,
                CASE WHEN is_void THEN COALESCE(sent_ns, due_ns)
                    ELSE GREATEST(due_ns, sent_ns - {jitter_ns} * (due_ns IS NOT NULL)::INT)
                    END AS tried_ns,
                CASE WHEN received_ns IS NOT NULL AND received_ns - sent_ns <= {deadline_ns} THEN 0
                    WHEN {is_own} THEN 1 ELSE 2 END AS fate
            FROM packet WHERE NOT is_cold AND NOT (is_unsent AND {is_left_out})
        ) AS judged
    ) AS followed
    WHERE fate < 2
) AS numbered
WHERE fate = 1
GROUP BY direction, row_number
ORDER BY direction, row_number"""

# What was refused: left out unless it counts; what is void never counts, but ends an own time.
_LEFT_OUT = {
    (_ALL, False): "TRUE",
    (_ALL, True): "is_void",
    (_OWN, False): "NOT is_void",
    (_OWN, True): "FALSE",
}


@dataclass(frozen=True)
class Counted:
    """How many packets there are, how many fail, and as how many independent ones they count."""

    n: int
    n_failed: int
    n_eff: int | None
    """None where not every packet's record is there."""

    @property
    def n_eff_failed(self) -> float:
        """Of n_eff, as many as fail of all."""
        return self.n_failed / max(self.n, 1) * (self.n_eff or 0)


@dataclass(frozen=True)
class OutOfWindow(Counted):
    """Packets that did not come in their window, by why."""

    n_early: int
    n_late: int
    n_lost: int


@dataclass(frozen=True)
class Longest:
    """The longest row of packets that were lost or late, and the longest time without another."""

    n_in_a_row: int
    outage_ns: int


class Packets:
    """Packets after the warm-up of the trials of one variant, read when they are asked for.

    `n_lost`: how many never came back. `n_refused`: how many the link refused although the
    generator was on time with them. `without_void`: without those the generator itself held up, the
    lost ones among them.
    """

    def __init__(
        self,
        trials: Sequence[TrialDirectory],
        n_lost: int,
        *,
        n_refused: int = 0,
        without_void: bool = False,
    ) -> None:
        self.n_refused = n_refused
        self._trials = trials
        self._n_lost = n_lost - (_lost_void(trials) if without_void else 0)
        self._without_void = without_void
        self._which = _OWN if without_void else _ALL

    def failing(self, deadline_ns: float, *, is_strict: bool, with_lost: bool) -> Counted:
        """Count packets later than a deadline (as late, too, if `is_strict`), and lost ones."""
        _, last, n = self._latencies
        is_late = last >= deadline_ns if is_strict else last > deadline_ns
        n_lost = self._n_lost if with_lost else 0
        total, n_failed = int(n.sum()) + n_lost, int(n[is_late].sum()) + n_lost
        if not total:
            return Counted(0, 0, 0)
        last_ns = int(deadline_ns) - is_strict
        n_eff = self._n_eff(last_ns, n_failed / total, with_lost=n_lost > 0)
        return Counted(total, n_failed, n_eff)

    def sooner(self, least_ns: float, *, is_strict: bool) -> Counted:
        """Count packets that came sooner than a time (as soon, too, if `is_strict`)."""
        values, _, n = self._latencies
        is_early = values <= least_ns if is_strict else values < least_ns
        return Counted(int(n.sum()), int(n[is_early].sum()), None)

    def out_of_window(self, earliest_ns: int, latest_ns: int) -> OutOfWindow:
        """Count packets that took less or more than a window allows, and lost ones."""
        values, last, n = self._latencies
        is_early = values < earliest_ns
        is_late = (last > latest_ns) & ~is_early
        n_early, n_late = (int(n[at].sum()) for at in (is_early, is_late))
        n_failed = n_early + n_late + self._n_lost
        total = int(n.sum()) + self._n_lost
        if not total:
            return OutOfWindow(0, 0, 0, 0, 0, 0)
        share, with_lost = n_failed / total, self._n_lost > 0
        n_eff = self._n_eff(latest_ns, share, with_lost=with_lost, earliest_ns=earliest_ns)
        return OutOfWindow(total, n_failed, n_eff, n_early, n_late, self._n_lost)

    def longest(self, deadline_ns: int, *, with_refused: bool = False) -> Longest | None:
        """Give the longest rows of packets lost or late; None: not every packet's record is there.

        An outage that no packet in time ends lasts until the last one was due. Without void packets
        the time from when each of these was due until the next was due is none of it.
        `with_refused`: what the link refused while the generator was on time counts as lost when it
        was due.
        """
        if not self._has_records:
            return None
        found = [Longest(0, 0)]
        for packets in self._records():
            asked = _ROWS.format(
                jitter_ns=_JITTER_NS,
                deadline_ns=deadline_ns,
                is_own=self._which,
                is_left_out=_LEFT_OUT[self._which, with_refused],
            )
            rows = packets.query(asked).to_pylist()
            found += [Longest(row["n"], row["outage_ns"]) for row in rows]
        return Longest(max(f.n_in_a_row for f in found), max(f.outage_ns for f in found))

    @property
    def why_none(self) -> str:
        """Say what it means that there is none."""
        which = " of those that the generator did not hold up" if self._without_void else ""
        return f"no packet{which} came back"

    @property
    def why_unknown(self) -> str:
        """Say why records are missing: they were left out, or never made."""
        missing = [t for t in self._trials if not t.packets.is_file()]
        if any(trial.meta.traffic.record == "all" for trial in missing):
            return LEFT_OUT
        return "not every packet was recorded"

    @cached_property
    def _latencies(self) -> tuple[Integers, Integers, Integers]:
        """The least and the greatest latency that each value stands for, and of how many packets.

        Of a histogram's bucket that lies partly above a limit nobody knows: it is late (late.py).
        """
        rows = self._own(pa.concat_tables([_latencies_of(trial) for trial in self._trials]))
        return rows["value_ns"].to_numpy(), rows["last_ns"].to_numpy(), rows["n"].to_numpy()

    @cached_property
    def _blocks(self) -> list[pa.Table] | None:
        """Of each trial the packets that came back, by blocks of time."""
        found = [read_blocks([trial.path]) for trial in self._trials]
        kept = [self._own(part) for part in found if part is not None]
        return kept if len(kept) == len(found) else None

    @property
    def _has_records(self) -> bool:
        """Whether every packet's record is there: the slow ones alone have no blocks."""
        return self._blocks is not None and all(t.packets.is_file() for t in self._trials)

    @cached_property
    def _lost(self) -> list[BlockCounts]:
        """Of each trial the packets that never came back, by the same blocks."""
        found = []
        for packets in self._records():
            rows = packets.query(_LOST.format(which=self._which))
            [span] = packets.query(SPAN).to_pylist()
            sent, n = rows["sent_ns"].to_numpy(), rows["n"].to_numpy()
            first_ns, last_ns = span["first_ns"] or 0, span["last_ns"] or 0
            step = block_length_ns(last_ns - first_ns + 1)
            block = np.clip(sent // step, first_ns // step, last_ns // step) - first_ns // step
            found.append(BlockCounts(block, np.full(len(n), _NEVER), n))
        return found

    def _records(self) -> Iterator[LazyEngine]:
        for trial in self._trials:
            with LazyEngine(_ENGINE) as engine:
                load_packets(engine, trial.packets)
                yield engine

    def _own(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pc.invert(rows["is_void"])) if self._without_void else rows

    def _n_eff(
        self, last_ns: int, share: float, *, with_lost: bool, earliest_ns: int = 0
    ) -> int | None:
        """`last_ns`: the last latency in time; `share`: of all, those that fail."""
        # Where records were left out nobody knows when packets were lost.
        if self._blocks is None or (with_lost and not self._has_records):
            return None
        parts = [_failing_late(_counts(rows), earliest_ns) for rows in self._blocks]
        if with_lost:
            parts = [_beside(*pair) for pair in zip(parts, self._lost, strict=True)]
        return independent(_one_after_the_other(parts), last_ns, share)


def independent(counts: BlockCounts, last_ns: int, share: float) -> int:
    """Give as how many independent packets some count, of which a share is later than `last_ns`.

    What fails may come together where packets that are just in time do not, as losses of an
    outage do; and where nothing failed, only packets in time say how late ones come. So the fewer
    of both count.
    """
    if not counts.n.sum():
        return 0
    failed = replace(counts, values=(counts.values > last_ns).astype(np.int64))
    return min(
        supports(of, {"": last}, {"": share})[""].n_eff
        for of, last in ((counts, last_ns), (failed, 1))
    )


def _latencies_of(trial: TrialDirectory) -> pa.Table:
    rows = Distributions(trial.path / DISTRIBUTION).of("latency")
    rows = rows.filter(pc.invert(rows["is_cold"]))
    last = values = rows["value_ns"].to_numpy()
    # Where not every packet was recorded, they are the generator's buckets.
    if not (trial.path / BLOCKS).is_file():
        last = greatest_ns(trial.histogram, values)
    return rows.append_column("last_ns", pa.array(last))


def _lost_void(trials: Sequence[TrialDirectory]) -> int:
    """Count packets lost after the warm-up that the generator held up; captures have none."""
    return sum(
        trial.meta.generator.counters.get("lost_void", 0)
        for trial in trials
        if trial.meta.generator is not None
    )


def _counts(rows: pa.Table) -> BlockCounts:
    return BlockCounts(*(rows[name].to_numpy() for name in ("block", "value_ns", "n")))


def _failing_late(counts: BlockCounts, earliest_ns: int) -> BlockCounts:
    """Give what came too early the latency of a lost packet: it fails as that does."""
    return replace(counts, values=np.where(counts.values < earliest_ns, _NEVER, counts.values))


def _beside(a: BlockCounts, b: BlockCounts) -> BlockCounts:
    return BlockCounts(
        np.concatenate([a.block, b.block]),
        np.concatenate([a.values, b.values]),
        np.concatenate([a.n, b.n]),
    )


def _one_after_the_other(parts: Sequence[BlockCounts]) -> BlockCounts:
    """Put trials together; a block of one stays apart from those of the others."""
    together, first = parts[0], 0
    for before, part in pairwise(parts):
        first += int(before.block.max(initial=-1)) + 1
        together = _beside(together, BlockCounts(part.block + first, part.values, part.n))
    return together
