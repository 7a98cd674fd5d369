"""Latencies by block of time: what tells packets that were late together from single ones.

A trial is cut into blocks of equal time, and the latencies of each are counted.  How much the
number of late packets differs from block to block says how many independent packets they are worth
(effective.py).  blocks.parquet keeps the counts, with three digits of every latency, so that
repetitions can be pooled and runs compared without reading a packet again.

Engines only count (docs/adr/0008); void packets are in, packets of the warm-up are not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.distribution import add_equal
from taut.analysis.tables import chunks, open_chunk
from taut.records import parquet
from taut.storage.engine import Engine

BLOCKS = "blocks.parquet"

LEAST_BLOCKS = 20
"""A trial is cut into at least so many blocks, and at most two and a half times as many."""

FINE_BITS = 15
"""Leading bits that the greatest latency of a second keeps."""

KEPT_BITS = 11
"""Leading bits that the others keep: what three significant digits need (2048 sub-buckets)."""

_SECOND_NS = 1_000_000_000
_LEAST_NS = 1_000

Integers = npt.NDArray[np.int64]

Counts = tuple[Integers, Integers]
"""Values, ascending, and how often each occurred."""

NO_COUNTS: Counts = (np.zeros(0, np.int64), np.zeros(0, np.int64))

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
SPAN = """
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


class Seconds(Mapping[int, Counts]):
    """Counts by the number of a second, as hdr_export.py asks for them (few).

    They are compressed: those of an hour would take as much memory as all the rest of an analysis.
    """

    def __init__(self) -> None:
        self._packed: dict[int, tuple[int, bytes]] = {}

    def add(self, number: int, counts: Counts) -> None:
        """Add counts, in any order, to those of a second."""
        values, n = few(*together(self.get(number, NO_COUNTS), counts))
        plain = np.concatenate([np.diff(values, prepend=0), n])
        packed = pa.compress(plain, codec="zstd", asbytes=True)
        self._packed[number] = plain.nbytes, packed

    def __getitem__(self, number: int) -> Counts:
        plain = pa.decompress(self._packed[number][1], self._packed[number][0], codec="zstd")
        steps, n = np.split(np.frombuffer(plain, np.int64), 2)
        return np.cumsum(steps), n

    def __iter__(self) -> Iterator[int]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


@dataclass(frozen=True)
class TimeCounts:
    """Latencies of one trial counted by time."""

    blocks: pa.Table
    """As blocks.parquet keeps them."""
    seconds: Seconds
    """Of each second that has any."""


def count_by_time(engine: Engine) -> TimeCounts:
    """Count the latencies of the trial loaded as `record` by time."""
    [span] = engine.query(SPAN).to_pylist()
    if span["first_ns"] is None:
        return TimeCounts(SCHEMA.empty_table(), Seconds())
    block_ns = _block_ns(int(span["first_ns"]), int(span["last_ns"]))
    return _by_time(_queried(engine, min(block_ns, _SECOND_NS)), block_ns)


def _queried(engine: Engine, step_ns: int) -> Iterator[pa.Table]:
    for chunk in list(chunks(engine)):
        open_chunk(engine, chunk, n_flows=1)
        rows = engine.query(_BY_TIME.format(step_ns=step_ns)).cast(_NOTHING.schema)
        values = rounded_down(rows["value_ns"].to_numpy(), FINE_BITS)
        yield rows.set_column(3, "value_ns", pa.array(values))
    open_chunk(engine, None, n_flows=1)


def counted_by_time(
    parts: Iterable[pa.Table], first_ns: int | None, last_ns: int | None
) -> TimeCounts:
    """Give counts that taut-count made; first and last are the times of sending, None of none."""
    if first_ns is None or last_ns is None:
        return TimeCounts(SCHEMA.empty_table(), Seconds())
    return _by_time((part.cast(_NOTHING.schema) for part in parts), _block_ns(first_ns, last_ns))


def _by_time(parts: Iterable[pa.Table], block_ns: int) -> TimeCounts:
    """Add up counts by steps, a part of them at a time: all of them may be more than memory."""
    blocks, seconds = [SCHEMA.empty_table()], Seconds()
    for part in parts:
        blocks.append(_in_blocks(part, block_ns))
        _add_seconds(seconds, part)
    return TimeCounts(_from_zero(_added_up(pa.concat_tables(blocks), _KEYS)), seconds)


def _in_blocks(rows: pa.Table, block_ns: int) -> pa.Table:
    block = pa.array(rows["start_ns"].to_numpy() // block_ns)
    values = pa.array(rounded_down(rows["value_ns"].to_numpy(), KEPT_BITS))
    rows = rows.set_column(0, "block", block).set_column(3, "value_ns", values)
    return _added_up(rows, _KEYS).cast(SCHEMA)


def _from_zero(blocks: pa.Table) -> pa.Table:
    if not blocks.num_rows:
        return blocks
    first = pc.min(blocks["block"])
    return blocks.set_column(0, "block", pc.subtract(blocks["block"], first)).cast(SCHEMA)


def _add_seconds(seconds: Seconds, rows: pa.Table) -> None:
    starts, values, n = (rows[name].to_numpy() for name in ("start_ns", "value_ns", "n"))
    # Mostly in the order of time already.
    order = np.argsort(starts, kind="stable")
    values, n = values[order], n[order]
    numbers, firsts = np.unique(starts[order] // _SECOND_NS, return_index=True)
    ends = np.append(firsts[1:], len(values))
    for number, first, end in zip(numbers.tolist(), firsts, ends, strict=True):
        seconds.add(number, (values[first:end], n[first:end]))


def together(counts: Counts, others: Counts) -> Counts:
    """Put counts beside others, in no order."""
    return np.concatenate([counts[0], others[0]]), np.concatenate([counts[1], others[1]])


def few(values: Integers, n: Integers) -> Counts:
    """Give what HdrHistogram makes the same of: a value for each bucket of its, and the greatest.

    It holds no negative values; results.json shows them, and so does a warning there.
    """
    kept = values >= 0
    values, n = rounded_down(values[kept], FINE_BITS), n[kept]
    is_less = values < values.max(initial=0)
    return add_equal(np.where(is_less, rounded_down(values, KEPT_BITS), values), n)


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
    """Add up the counts of equal rows; those come out in order."""
    # By sorting: Arrow's own grouping takes several times the memory of the rows.
    columns = [rows[key].to_numpy() for key in keys]
    order = np.lexsort(columns[::-1])
    columns = [column[order] for column in columns]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    firsts = np.flatnonzero(is_first)
    n = rows["n"].to_numpy()[order]
    counted = np.add.reduceat(n, firsts) if len(n) else n
    return pa.table([*(column[firsts] for column in columns), counted], [*keys, "n"])


def read_blocks(trials: Sequence[Path]) -> pa.Table | None:
    """Give the blocks of several analysed trials one after the other.

    None where one of them was recorded without every packet: nobody knows when its packets were
    late.
    """
    paths = [trial / BLOCKS for trial in trials]
    if not all(path.is_file() for path in paths):
        return None
    return one_after_the_other([parquet.read_table(path) for path in paths])


def one_after_the_other(tables: Sequence[pa.Table]) -> pa.Table:
    """Put the blocks of trials together; a block of one stays apart from those of the others."""
    parts, first = [SCHEMA.empty_table()], 0
    for table in tables:
        parts.append(table.set_column(0, "block", pc.add(table["block"], first)))
        first += (pc.max(table["block"]).as_py() or 0) + 1
    return pa.concat_tables(parts)
