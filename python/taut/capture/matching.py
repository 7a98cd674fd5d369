"""Matching inside an engine: docs/matching.md as SQL, for captures that outgrow one machine.

Three facts make it short. A frame's clock never falls along its file: frames of one file are in the
order of their positions, and running maxima of position and clock belong to the same frame. The
nearest ingress frames of a key decide both ambiguity and ownership. And everything is sorted by key
and clock only, so that an engine can distribute the keys.
"""

from pathlib import Path

import pyarrow as pa

from taut.core.errors import InputError
from taut.records.documents.match import MatchCounts
from taut.records.layout import EXTRA_RECORD, PacketFlag
from taut.storage.engine import Engine

# The running maximum behind out-of-sequence is taken in blocks of egress positions, so that no
# engine has to bring all packets to one place.
_BLOCK_FRAMES = 1 << 20

# Latest ingress frame before each frame and first one after it, among those with its key. The
# second window is the first one backwards: a frame that ends at the last row would be summed up
# anew for every row, which takes for ever where a flood of packets has one key.
_BEFORE = (
    "OVER (PARTITION BY key ORDER BY clock_ns, side, pos"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
)
_AFTER = (
    "OVER (PARTITION BY key ORDER BY clock_ns DESC, side DESC, pos DESC"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
)
_PLACED_FRAME = f"""
SELECT side, pos, clock_ns,
    MAX(ingress_pos) {_BEFORE} AS before_pos,
    MAX(ingress_clock_ns) {_BEFORE} AS before_clock_ns,
    MIN(ingress_pos) {_AFTER} AS after_pos,
    MIN(ingress_clock_ns) {_AFTER} AS after_clock_ns
FROM (
    SELECT key, 0 AS side, pos, clock_ns, pos AS ingress_pos, clock_ns AS ingress_clock_ns
    FROM ingress_frame
    WHERE key IS NOT NULL
    UNION ALL
    SELECT key, 1 AS side, pos, clock_ns,
        CAST(NULL AS BIGINT) AS ingress_pos, CAST(NULL AS BIGINT) AS ingress_clock_ns
    FROM egress_frame
    WHERE key IS NOT NULL
) keyed"""

# The matched pairs: rule 4. Order within a file is the order of positions.
_PAIR = """
SELECT claim.ingress_pos, claim.egress_pos
FROM (
    SELECT owner_pos AS ingress_pos,
        COALESCE(MIN(CASE WHEN is_after THEN pos END), MAX(pos)) AS egress_pos
    FROM egress_place
    WHERE owner_pos IS NOT NULL
    GROUP BY owner_pos
) claim
JOIN ingress_place ON ingress_place.pos = claim.ingress_pos
WHERE NOT ingress_place.is_ambiguous"""

_SEQUENCED_PAIR = f"""
SELECT pair.ingress_pos, pair.egress_pos,
    pair.ingress_pos < GREATEST(
        COALESCE(block.highest_before, -1),
        COALESCE(MAX(pair.ingress_pos) OVER (
            PARTITION BY pair.egress_pos - pair.egress_pos % {_BLOCK_FRAMES}
            ORDER BY pair.egress_pos
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), -1)
    ) AS is_out_of_sequence
FROM pair
JOIN (
    SELECT first_pos,
        MAX(highest) OVER (
            ORDER BY first_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS highest_before
    FROM (
        SELECT egress_pos - egress_pos % {_BLOCK_FRAMES} AS first_pos,
            MAX(ingress_pos) AS highest
        FROM pair
        GROUP BY egress_pos - egress_pos % {_BLOCK_FRAMES}
    ) blocks
) block ON block.first_pos = pair.egress_pos - pair.egress_pos % {_BLOCK_FRAMES}"""

_COUNTS = f"""
SELECT
    COUNT(sent_ns) AS ingress_frames,
    COUNT(received_ns) AS egress_frames,
    COUNT(received_ns - sent_ns) AS matched,
    COUNT(CASE WHEN kind = 0 AND received_ns IS NULL THEN 1 END) AS lost,
    COUNT(CASE WHEN kind = {PacketFlag.DUPLICATE} THEN 1 END) AS duplicates,
    COUNT(CASE WHEN kind = {PacketFlag.AMBIGUOUS} THEN sent_ns END) AS ambiguous_ingress,
    COUNT(CASE WHEN kind = {PacketFlag.AMBIGUOUS} THEN received_ns END) AS ambiguous_egress,
    COUNT(CASE WHEN kind = {PacketFlag.ORPHAN} THEN 1 END) AS orphans,
    COUNT(CASE WHEN kind = {PacketFlag.LATE} THEN 1 END) AS beyond_window,
    COUNT(CASE WHEN received_ns < sent_ns THEN 1 END) AS negative,
    COUNT(CASE WHEN (flags & {PacketFlag.OUT_OF_SEQUENCE}) <> 0 THEN 1 END) AS out_of_sequence,
    COUNT(CASE WHEN kind = {PacketFlag.TRUNCATED} THEN sent_ns END) AS truncated_ingress,
    COUNT(CASE WHEN kind = {PacketFlag.TRUNCATED} THEN received_ns END) AS truncated_egress,
    COUNT(CASE WHEN (flags & {PacketFlag.COLD}) <> 0 THEN received_ns - sent_ns END)
        AS skipped_warmup
FROM (
    SELECT sent_ns, received_ns, flags, flags & {EXTRA_RECORD} AS kind
    FROM matched_record
) frame
ORDER BY ingress_frames"""


def match_in_engine(
    engine: Engine,
    ingress: Path | pa.Table,
    egress: Path | pa.Table,
    window_ns: int,
    skip_ns: int = 0,
) -> None:
    """Match two tables of frames (frames.FRAME_SCHEMA); the result is the table `matched_record`.

    Its columns are those of packets.parquet: one row a frame of ingress, which also speaks of the
    egress frame matched with it, and one row a frame of egress that is not matched.
    """
    if window_ns <= 0:
        raise InputError(f"window of {window_ns} ns: must be above 0; 5s is usual")
    engine.load({"ingress_frame": ingress, "egress_frame": egress})
    engine.materialise("placed_frame", _PLACED_FRAME)
    engine.materialise("ingress_place", _ingress_place_sql(window_ns))
    engine.materialise("egress_place", _egress_place_sql(window_ns))
    engine.materialise("pair", _PAIR)
    engine.materialise("sequenced_pair", _SEQUENCED_PAIR)
    origin_ns = _first_ns(engine, "ingress_frame")
    ingress_rows = _ingress_rows_sql(origin_ns, _cold_sql("i.ts_ns", origin_ns, skip_ns))
    first_ns = _first_ns(engine, "egress_frame")
    egress_rows = _egress_rows_sql(origin_ns, _cold_sql("ts_ns", first_ns, skip_ns))
    engine.materialise("matched_record", f"{ingress_rows}\nUNION ALL\n{egress_rows}")


def class_counts(engine: Engine) -> MatchCounts:
    """How many frames of each class match_in_engine has found."""
    rows = engine.query(_COUNTS).to_pylist()
    runs = engine.query(
        "SELECT COUNT(*) AS duplicate_keys FROM ingress_place WHERE starts_run"
        " ORDER BY duplicate_keys"
    ).to_pylist()
    return MatchCounts(**{name: int(n) for name, n in {**rows[0], **runs[0]}.items()})


def _first_ns(engine: Engine, table: str) -> int:
    """Give a file's first time stamp; 0 where it has no frame."""
    first = engine.query(f"SELECT ts_ns FROM {table} WHERE pos = 0 ORDER BY ts_ns")
    return int(first.column("ts_ns")[0].as_py()) if first.num_rows else 0


def _ingress_place_sql(window_ns: int) -> str:
    """Rule 1, and which ambiguous frame is the first of its run."""
    return f"""
SELECT pos, is_near_before OR is_near_after AS is_ambiguous,
    is_near_after AND NOT is_near_before AS starts_run
FROM (
    SELECT pos,
        COALESCE(clock_ns - before_clock_ns < {window_ns}, FALSE) AS is_near_before,
        COALESCE(after_clock_ns - clock_ns < {window_ns}, FALSE) AS is_near_after
    FROM placed_frame
    WHERE side = 0
) ingress"""


def _egress_place_sql(window_ns: int) -> str:
    """Rule 2, and for rule 5 the nearest ingress frame of one that may have no owner."""
    return f"""
SELECT pos,
    COALESCE(to_before_ns < {window_ns}, FALSE) AS is_after,
    CASE WHEN to_before_ns < {window_ns} THEN before_pos
        WHEN to_after_ns < {window_ns} THEN after_pos END AS owner_pos,
    CASE WHEN to_before_ns < {2 * window_ns} AND to_before_ns <= COALESCE(to_after_ns, to_before_ns)
            THEN before_pos
        WHEN to_after_ns < {2 * window_ns} THEN after_pos END AS nearest_pos
FROM (
    SELECT pos, before_pos, after_pos,
        clock_ns - before_clock_ns AS to_before_ns,
        after_clock_ns - clock_ns AS to_after_ns
    FROM placed_frame
    WHERE side = 1
) egress"""


def _cold_sql(ts_ns: str, first_ns: int, skip_ns: int) -> str:
    """Flag the warm-up. Where none is declared, even time before the first frame is warm."""
    if skip_ns == 0:
        return "0"
    return f"CASE WHEN {ts_ns} < {first_ns + skip_ns} THEN {PacketFlag.COLD} ELSE 0 END"


def _ingress_rows_sql(origin_ns: int, cold: str) -> str:
    return f"""
SELECT i.pos AS seq, 0 AS direction, 0 AS flow, i.frame_len,
    CASE WHEN i.key IS NULL THEN {PacketFlag.TRUNCATED}
        WHEN place.is_ambiguous THEN {PacketFlag.AMBIGUOUS} ELSE 0 END
    + CASE WHEN p.is_out_of_sequence THEN {PacketFlag.OUT_OF_SEQUENCE} ELSE 0 END
    + {cold} AS flags,
    CAST(NULL AS BIGINT) AS due_ns,
    i.ts_ns - {origin_ns} AS sent_ns,
    e.ts_ns - {origin_ns} AS received_ns,
    CAST(0 AS BIGINT) AS arrival_window_ns
FROM ingress_frame i
LEFT JOIN ingress_place place ON place.pos = i.pos
LEFT JOIN sequenced_pair p ON p.ingress_pos = i.pos
LEFT JOIN egress_frame e ON e.pos = p.egress_pos"""


def _egress_rows_sql(origin_ns: int, cold: str) -> str:
    """Frames of egress that are not matched; rules 3 to 5 say why."""
    return f"""
SELECT seq, 0 AS direction, 0 AS flow, frame_len,
    kind + {cold} AS flags,
    CAST(NULL AS BIGINT) AS due_ns,
    CAST(NULL AS BIGINT) AS sent_ns,
    ts_ns - {origin_ns} AS received_ns,
    CAST(0 AS BIGINT) AS arrival_window_ns
FROM (
    SELECT e.ts_ns, e.frame_len,
        CASE WHEN owner.is_ambiguous THEN 0
            ELSE COALESCE(place.owner_pos, place.nearest_pos, 0) END AS seq,
        CASE WHEN e.key IS NULL THEN {PacketFlag.TRUNCATED}
            WHEN owner.is_ambiguous THEN {PacketFlag.AMBIGUOUS}
            WHEN place.owner_pos IS NOT NULL THEN {PacketFlag.DUPLICATE}
            WHEN place.nearest_pos IS NOT NULL THEN {PacketFlag.LATE}
            ELSE {PacketFlag.ORPHAN} END AS kind
    FROM egress_frame e
    LEFT JOIN egress_place place ON place.pos = e.pos
    LEFT JOIN ingress_place owner ON owner.pos = place.owner_pos
    LEFT JOIN sequenced_pair p ON p.egress_pos = e.pos
    WHERE p.egress_pos IS NULL
) unmatched"""
