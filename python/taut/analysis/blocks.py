"""Latencies by block of time: what tells packets that were late together from single ones.

A trial is cut into blocks of equal time, and the latencies of each are counted.  How much the
number of late packets differs from block to block says how many independent packets they are worth
(effective.py).  blocks.parquet keeps the counts, with three digits of every latency, so that
repetitions can be pooled and runs compared without reading a packet again.

Engines only count (docs/adr/0008); void packets are in, packets of the warm-up are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from taut.analysis.tables import chunks, open_chunk
from taut.storage.engine import Engine

BLOCKS = "blocks.parquet"

LEAST_BLOCKS = 20
"""A trial is cut into at least so many blocks, and at most two and a half times as many."""

FINE_BITS = 15
"""Leading bits of a latency that remain in the counts by time: hdr_export.py asks for so many."""

KEPT_BITS = 11
_SECOND_NS = 1_000_000_000
_LEAST_NS = 1_000

Integers = npt.NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("block", pa.int64()),
        ("direction", pa.int32()),
        ("is_void", pa.bool_()),
        ("value_ns", pa.int64()),
        ("n", pa.int64()),
    ]
)
_KEYS = SCHEMA.names[:-1]

# MIN and MAX over all packets would include packets that are not counted here.
_SPAN = """
SELECT MIN(sent_ns) AS first_ns, MAX(sent_ns) AS last_ns
FROM packet
WHERE received_ns IS NOT NULL AND NOT is_cold
ORDER BY first_ns"""

# MOD of integers is exact in every engine, division is not; the second MOD rounds negative times
# down as well.
_START = "sent_ns - MOD(MOD(sent_ns, {step_ns}) + {step_ns}, {step_ns})"
_BY_TIME = f"""
SELECT {_START} AS start_ns, direction, is_void, received_ns - sent_ns AS value_ns, COUNT(*) AS n
FROM packet
WHERE received_ns IS NOT NULL AND NOT is_cold
GROUP BY {_START}, direction, is_void, received_ns - sent_ns
ORDER BY start_ns, direction, is_void, value_ns"""


@dataclass(frozen=True)
class TimeCounts:
    """Latencies of one trial counted by time; a latency is rounded down to FINE_BITS bits."""

    rows: pa.Table
    """start_ns, direction, is_void, value_ns, n; steps of a block or, if shorter, of a second."""
    block_ns: int

    def blocks(self) -> pa.Table:
        """Give the counts by block, as blocks.parquet keeps them."""
        block = self.rows["start_ns"].to_numpy() // self.block_ns
        values = rounded_down(self.rows["value_ns"].to_numpy(), KEPT_BITS)
        rows = self.rows.select(["direction", "is_void", "n"])
        rows = rows.append_column("block", pa.array(block - (block.min() if len(block) else 0)))
        return _added_up(rows.append_column("value_ns", pa.array(values)), _KEYS).cast(SCHEMA)


def count_by_time(engine: Engine) -> TimeCounts:
    """Count the latencies of the trial loaded as `record` by time."""
    [span] = engine.query(_SPAN).to_pylist()
    if span["first_ns"] is None:
        return TimeCounts(_NOTHING, _SECOND_NS)
    block_ns = _block_ns(int(span["first_ns"]), int(span["last_ns"]))
    select = _BY_TIME.format(step_ns=min(block_ns, _SECOND_NS))
    parts = [_NOTHING]
    for chunk in list(chunks(engine)):
        open_chunk(engine, chunk, n_flows=1)
        rows = engine.query(select).cast(_NOTHING.schema)
        values = rounded_down(rows["value_ns"].to_numpy(), FINE_BITS)
        parts.append(rows.set_column(3, "value_ns", pa.array(values)))
    open_chunk(engine, None, n_flows=1)
    return TimeCounts(_added_up(pa.concat_tables(parts), _NOTHING.schema.names[:-1]), block_ns)


def counted_by_time(rows: pa.Table, first_ns: int | None, last_ns: int | None) -> TimeCounts:
    """Give counts that taut-count made; first and last are the times of sending, None of none."""
    if first_ns is None or last_ns is None:
        return TimeCounts(_NOTHING, _SECOND_NS)
    return TimeCounts(rows.cast(_NOTHING.schema), _block_ns(first_ns, last_ns))


def _block_ns(first_ns: int, last_ns: int) -> int:
    return block_length_ns(last_ns - first_ns + 1)


_NOTHING = pa.schema([("start_ns", pa.int64()), *list(SCHEMA)[1:]]).empty_table()


def block_length_ns(span_ns: int) -> int:
    """Give the longest of 1, 2, 5, 10, 20 ... us that cuts a span into LEAST_BLOCKS or more.

    So a second is a whole number of blocks, or a block a whole number of seconds.
    """
    length_ns = _LEAST_NS
    for decade in range(3, 18):
        for first_digit in (1, 2, 5):
            if first_digit * 10**decade * LEAST_BLOCKS <= span_ns:
                length_ns = first_digit * 10**decade
    return length_ns


def rounded_down(values: Integers, n_bits: int) -> Integers:
    """Keep the `n_bits` leading bits of every value and set the others to 0."""
    bits = np.frexp(values.astype(np.float64))[1]
    shift = np.maximum(bits - n_bits, 0)
    kept: Integers = (values >> shift) << shift
    return kept


def _added_up(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    counted = rows.group_by(keys).aggregate([("n", "sum")]).rename_columns([*keys, "n"])
    return counted.sort_by([(key, "ascending") for key in keys])


def read_blocks(trials: Sequence[Path]) -> pa.Table | None:
    """Give the blocks of several analysed trials one after the other.

    None where one of them was recorded without every packet: nobody knows when its packets were
    late.
    """
    paths = [trial / BLOCKS for trial in trials]
    if not all(path.is_file() for path in paths):
        return None
    return one_after_the_other([pq.read_table(path) for path in paths])


def one_after_the_other(tables: Sequence[pa.Table]) -> pa.Table:
    """Put the blocks of trials together; a block of one stays apart from those of the others."""
    parts, first = [SCHEMA.empty_table()], 0
    for table in tables:
        parts.append(table.set_column(0, "block", pc.add(table["block"], first)))
        first += (pc.max(table["block"]).as_py() or 0) + 1
    return pa.concat_tables(parts)
