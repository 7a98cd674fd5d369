"""The tables metrics read, named over a trial's Parquet.

A trial is read in chunks of sequence numbers: only pairs of packets have to be sorted, and sorting
a chunk takes the same memory however long the run was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from taut.records import parquet
from taut.records.layout import EXTRA_RECORD, PacketFlag
from taut.storage.engine import Engine

CHUNK_PACKETS = 1 << 22

REORDER_CONTEXT = 1 << 16
"""Packets around a chunk that are sorted with it: order of receipt crosses its borders."""


def _is(flag: PacketFlag) -> str:
    """SQL: whether a row has one of these flags."""
    return f"(CAST(flags AS INTEGER) & {int(flag)}) <> 0"


_COLUMNS = f"""
    CAST(seq AS BIGINT) AS seq,
    CAST(direction AS INTEGER) AS direction,
    {_is(PacketFlag.VOID)} AS is_void,
    {_is(PacketFlag.UNSENT)} AS is_unsent,
    {_is(PacketFlag.LATE)} AS is_late,
    {_is(PacketFlag.DUPLICATE)} AS is_duplicate,
    {_is(PacketFlag.OUT_OF_SEQUENCE)} AS is_out_of_sequence,
    {_is(PacketFlag.COLD)} AS is_cold,
    {_is(PacketFlag.ORPHAN)} AS is_orphan,
    CAST(due_ns AS BIGINT) AS due_ns,
    CAST(sent_ns AS BIGINT) AS sent_ns,
    CAST(received_ns AS BIGINT) AS received_ns,
    CAST(arrival_window_ns AS BIGINT) AS arrival_window_ns"""


@dataclass(frozen=True)
class Chunk:
    """A range of sequence numbers, last excluded."""

    first_seq: int
    last_seq: int


def load_packets(engine: Engine, packets: Path) -> None:
    """Name the records of a Parquet file and the tables over them.

    InputError: it is not there, or damaged, which engines say in words of their own.
    """
    parquet.read_metadata(packets)
    engine.load({"record": packets})
    name_tables(engine)


def name_tables(engine: Engine) -> None:
    """Name the tables over `record`; `extra` is the rows beyond each packet's own one."""
    engine.define("extra", f"SELECT {_COLUMNS} FROM record WHERE {_is(EXTRA_RECORD)}")
    open_chunk(engine, None, n_flows=1)


def chunks(engine: Engine) -> Iterator[Chunk]:
    """Cut the trial's sequence numbers into chunks."""
    # An orphan or a corrupt probe may carry any number: only packets of this run count.
    highest = engine.query("SELECT MAX(seq) AS highest FROM packet ORDER BY highest")
    last = highest.column("highest")[0].as_py()
    if last is None:
        return
    for first in range(0, last + 1, CHUNK_PACKETS):
        yield Chunk(first, min(first + CHUNK_PACKETS, last + 1))


def open_chunk(engine: Engine, chunk: Chunk | None, n_flows: int) -> None:
    """Name `packet` and the tables of pairs for one chunk, or for the whole trial."""
    own = f"(CAST(flags AS INTEGER) & {int(EXTRA_RECORD)}) = 0"
    if chunk is None:
        within, context, around, first_seq = own, own, own, 0
    else:
        # The packets before the chunk's first one are the other half of its first pairs.
        before = chunk.first_seq - max(n_flows, REORDER_CONTEXT)
        within = f"{own} AND seq >= {chunk.first_seq} AND seq < {chunk.last_seq}"
        context = f"{own} AND seq >= {max(before, 0)} AND seq < {chunk.last_seq}"
        around = f"{own} AND seq >= {max(chunk.first_seq - REORDER_CONTEXT, 0)}"
        around += f" AND seq < {chunk.last_seq + REORDER_CONTEXT}"
        first_seq = chunk.first_seq
    engine.define("packet", f"SELECT {_COLUMNS} FROM record WHERE {within}")
    engine.define("successive", _successive_sql(context, first_seq))
    engine.define("in_flow", _in_flow_sql(context, first_seq, max(n_flows, 1)))
    engine.define("arrival", _arrival_sql(around, first_seq, chunk.last_seq if chunk else None))


def _successive_sql(context: str, first_seq: int) -> str:
    """Pair each packet with the one before it; both count as void or cold when either is.

    Where that is no packet, as a frame of a capture that is ambiguous, there is no such time.
    """
    order = "PARTITION BY direction ORDER BY seq"
    return f"""
SELECT direction, is_void OR previous_is_void AS is_void, is_cold OR previous_is_cold AS is_cold,
    sent_ns,
    CASE WHEN previous_seq = seq - 1 THEN previous_sent_ns END AS previous_sent_ns
FROM (
    SELECT seq, direction, is_void, is_cold, sent_ns,
        LAG(seq) OVER ({order}) AS previous_seq,
        COALESCE(LAG(is_void) OVER ({order}), FALSE) AS previous_is_void,
        COALESCE(LAG(is_cold) OVER ({order}), FALSE) AS previous_is_cold,
        LAG(sent_ns) OVER ({order}) AS previous_sent_ns
    FROM (
        SELECT {_COLUMNS}
        FROM record
        WHERE {context}
    ) numbered
) paired
WHERE seq >= {first_seq}"""


def _in_flow_sql(context: str, first_seq: int, n_flows: int) -> str:
    """Pair each packet with the one sent before it in its flow, in whatever order they came.

    Flows take turns, so that is seq - n_flows. A pair is void, or cold, when either packet is;
    packets of other flows between them are no matter. The generator counts the same.
    """
    order = "PARTITION BY direction ORDER BY seq"
    return f"""
SELECT direction, is_void OR flow_is_void AS is_void, is_cold OR flow_is_cold AS is_cold,
    latency_ns, previous_latency_ns,
    latency_ns IS NOT NULL AND previous_latency_ns IS NOT NULL
        AND flow_seq = seq - {n_flows} AS is_pair
FROM (
    SELECT seq, direction, is_void, is_cold, latency_ns,
        LAG(seq, {n_flows}) OVER ({order}) AS flow_seq,
        COALESCE(LAG(is_void, {n_flows}) OVER ({order}), FALSE) AS flow_is_void,
        COALESCE(LAG(is_cold, {n_flows}) OVER ({order}), FALSE) AS flow_is_cold,
        LAG(latency_ns, {n_flows}) OVER ({order}) AS previous_latency_ns
    FROM (
        SELECT {_COLUMNS}, CAST(received_ns AS BIGINT) - CAST(sent_ns AS BIGINT) AS latency_ns
        FROM record
        WHERE {context}
    ) numbered
) paired
WHERE seq >= {first_seq}"""


def _arrival_sql(around: str, first_seq: int, last_seq: int | None) -> str:
    """Pair each packet received with the one received before it; both count as void or cold.

    Exact while fewer than REORDER_CONTEXT packets in a row are lost or out of order.
    """
    order = "PARTITION BY direction ORDER BY received_ns, seq"
    until = "" if last_seq is None else f" AND seq < {last_seq}"
    return f"""
SELECT direction, is_void OR previous_is_void AS is_void, is_cold OR previous_is_cold AS is_cold,
    received_ns, previous_received_ns
FROM (
    SELECT seq, direction, is_void, is_cold, received_ns,
        COALESCE(LAG(is_void) OVER ({order}), FALSE) AS previous_is_void,
        COALESCE(LAG(is_cold) OVER ({order}), FALSE) AS previous_is_cold,
        LAG(received_ns) OVER ({order}) AS previous_received_ns
    FROM (
        SELECT {_COLUMNS}
        FROM record
        WHERE {around}
    ) numbered
    WHERE received_ns IS NOT NULL
) paired
WHERE seq >= {first_seq}{until}"""
