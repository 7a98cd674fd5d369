"""The exact distribution of every metric of a trial: each value and how often it occurred.

Everything later (percentiles, figures, merging repetitions) is computed from this small table.
Tables of several trials are merged by concatenating them and summing n.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.metric import Metric, Shape
from taut.analysis.metrics import ADDED, METRICS
from taut.analysis.tables import chunks, load_packets, open_chunk
from taut.core.plugins import PluginWarning
from taut.records import parquet
from taut.storage.engine import Engine

SCHEMA = pa.schema(
    [
        # By number: a trial has millions of rows, and a name takes more than the rest of one.
        ("metric", pa.dictionary(pa.int8(), pa.string())),
        ("direction", pa.int32()),
        ("is_void", pa.bool_()),
        ("is_cold", pa.bool_()),
        ("value_ns", pa.int64()),
        ("n", pa.int64()),
    ]
)
_KEYS = SCHEMA.names[:-1]
_IN_SQL = SCHEMA.set(0, SCHEMA.field("metric").with_type(pa.string()))

Integers = npt.NDArray[np.int64]

Counts = dict[tuple[int, bool], dict[str, int]]
"""Counters by (direction, is_cold)."""

LeftOut = dict[str, str]
"""By name of a plug-in's metric that this trial has not, because its SELECT failed: a line."""


@dataclass(frozen=True)
class Measured:
    """What a trial's records say: distributions and counters."""

    distribution: pa.Table
    counts: Counts | None
    """None when not every packet was recorded."""
    not_exact: str | None = None
    """Which values of every packet are not exact, in words; None: all are."""
    left_out: LeftOut = field(default_factory=dict)


def measure_packets(engine: Engine, packets: Path, n_flows: int) -> Measured:
    """Compute every metric from the record of every packet."""
    load_packets(engine, packets)
    return measure_records(engine, n_flows)


def add_plugins(engine: Engine, packets: Path, n_flows: int, measured: Measured) -> Measured:
    """Compute the metrics of plug-ins, which neither one pass nor a matcher of captures counts."""
    if not ADDED:
        return measured
    load_packets(engine, packets)
    left_out: LeftOut = {}
    added = merge(_by_chunk(engine, n_flows, ADDED, {}, left_out))
    table = derive(engine, pa.concat_tables([measured.distribution, added]), ADDED, left_out)
    return replace(measured, distribution=table, left_out=left_out)


def measure_records(engine: Engine, n_flows: int) -> Measured:
    """Compute every metric from the table `record` and those over it."""
    counts: Counts = {}
    left_out: LeftOut = {}
    parts = _by_chunk(engine, n_flows, METRICS, counts, left_out)
    for metric in METRICS:
        if metric.of_whole_trial:
            _add_counts(counts, engine.query(metric.sql))
    table = derive(engine, merge(parts), METRICS, left_out)
    return Measured(table, counts, left_out=left_out)


def _by_chunk(
    engine: Engine, n_flows: int, metrics: Sequence[Metric], counts: Counts, left_out: LeftOut
) -> list[pa.Table]:
    """Give the distributions of each chunk, and add its counters to `counts`.

    Afterwards `packet` is the whole trial again: who counts next counts all of it.
    """
    parts: list[tuple[str, pa.Table]] = []
    for chunk in list(chunks(engine)):
        open_chunk(engine, chunk, n_flows)
        for metric in metrics:
            if metric.derived or metric.of_whole_trial:
                continue
            if metric.shape is Shape.COUNTS:
                _add_counts(counts, engine.query(metric.sql))
            else:
                parts.append((metric.name, _rows_of(engine, metric, left_out)))
    open_chunk(engine, None, n_flows)
    return [rows for name, rows in parts if name not in left_out]


def _rows_of(engine: Engine, metric: Metric, left_out: LeftOut) -> pa.Table:
    """Give the rows of a metric's SELECT; a plug-in's that fails is left out, with one line."""
    if metric not in ADDED:
        return labelled(metric.name, engine.query(metric.sql))
    try:
        rows = labelled(metric.name, engine.query(metric.sql))
        if any(column.null_count for column in rows.columns):
            raise ValueError("its SELECT gives a NULL")
    except Exception as error:  # noqa: BLE001 - each engine has errors of its own
        left_out[metric.name] = f"metric {metric.name}: left out: {_first_line(error)}"
        warnings.warn(left_out[metric.name], PluginWarning, stacklevel=2)
        return SCHEMA.empty_table()
    return rows


def _first_line(error: Exception) -> str:
    """Give what an engine said, without the SELECT that some quote below it."""
    return next(iter(f"{type(error).__name__}: {error}".splitlines()))


def measure_capture(engine: Engine, packets: Path, histogram: Path) -> Measured:
    """Take the exact distributions a matched pair of captures comes with; count its packets."""
    load_packets(engine, packets)
    counts: Counts = {}
    for metric in METRICS:
        if metric.shape is Shape.COUNTS:
            _add_counts(counts, engine.query(metric.sql))
    return Measured(measure_histogram(histogram).distribution, counts)


def measure_histogram(histogram: Path) -> Measured:
    """Take the distributions the generator counted itself, at its resolution.

    A bucket wider than one nanosecond is entered at its lowest value.
    """
    rows = parquet.read_table(histogram, columns=["series", *_KEYS[1:], "n"])
    parts = [
        labelled(metric.name, rows.filter(pc.equal(rows["series"], metric.series)))
        for metric in METRICS
        if metric.series is not None
    ]
    return Measured(with_pdv(merge(parts)), None)


def merge(parts: Sequence[pa.Table]) -> pa.Table:
    """Add up distributions of chunks, trials or machines.

    One metric at a time: an hour on a noisy machine has tens of millions of values.
    """
    names = {name for part in parts for name in metrics_in(part)}
    return pa.concat_tables([SCHEMA.empty_table(), *(_merged(parts, n) for n in sorted(names))])


def _merged(parts: Sequence[pa.Table], metric: str) -> pa.Table:
    keys = _KEYS[1:]
    rows = pa.concat_tables([select_metric(part, metric).drop_columns("metric") for part in parts])
    counted = rows.group_by(keys).aggregate([("n", "sum")]).rename_columns([*keys, "n"])
    return labelled(metric, counted.sort_by([(key, "ascending") for key in keys]))


def add_equal(values: Integers, n: Integers) -> tuple[Integers, Integers]:
    """Give the distinct values, ascending, and what the counts of each add up to."""
    # What is sorted in parts is merged, not sorted: several times as fast as numpy.unique.
    order = np.argsort(values, kind="stable")
    values, n = values[order], n[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[first], np.add.reduceat(n, first)


def derive(
    engine: Engine, distribution: pa.Table, metrics: Sequence[Metric], left_out: LeftOut
) -> pa.Table:
    """Add to the merged distributions of the other metrics those that are computed from them."""
    asked = [metric for metric in metrics if metric.derived]
    if asked:
        engine.load({"distribution": distribution.cast(_IN_SQL)})
    derived = [_rows_of(engine, metric, left_out) for metric in asked]
    names = sorted(metric.name for metric in METRICS if metric.shape is Shape.DISTRIBUTION)
    parts = [distribution, merge(derived)]
    return pa.concat_tables([select_metric(part, name) for name in names for part in parts])


def with_pdv(distribution: pa.Table) -> pa.Table:
    """Add the one metric that is computed from another, without an engine: as metrics.py has it.

    Metrics are in the order of their names.
    """
    latency = select_metric(distribution, "latency")
    warm = latency.filter(pc.invert(latency["is_cold"]))
    parts = []
    for direction in sorted(pc.unique(warm["direction"]).to_pylist()):
        rows = warm.filter(pc.equal(warm["direction"], direction))
        value_ns = pc.subtract(rows["value_ns"], pc.min(rows["value_ns"]))
        rows = rows.set_column(SCHEMA.get_field_index("value_ns"), "value_ns", value_ns)
        parts.append(labelled("pdv", rows.drop_columns("metric")))
    before = [name for name in metrics_in(distribution) if name < "pdv"]
    at = sum(select_metric(distribution, name).num_rows for name in before)
    return pa.concat_tables([distribution.slice(0, at), *parts, distribution.slice(at)])


def labelled(metric: str, rows: pa.Table) -> pa.Table:
    """Give rows of a metric's SELECT as those of a distribution."""
    number = pa.array(np.zeros(rows.num_rows, np.int8))
    name = pa.DictionaryArray.from_arrays(number, [metric])
    return rows.append_column("metric", name).select(SCHEMA.names).cast(SCHEMA)


def metrics_in(distribution: pa.Table) -> set[str]:
    """Name the metrics that have rows; each chunk has a dictionary of its own."""
    return {name for part in distribution["metric"].chunks for name in pc.unique(part).to_pylist()}


def _add_counts(counts: Counts, rows: pa.Table) -> None:
    for row in rows.to_pylist():
        key = (int(row.pop("direction")), bool(row.pop("is_cold")))
        into = counts.setdefault(key, {})
        for name, value in row.items():
            into[name] = into.get(name, 0) + int(value or 0)


def select_metric(distribution: pa.Table, metric: str) -> pa.Table:
    """The rows of one metric; nothing is copied where they stand together, as those of a trial."""
    chosen = _is(distribution["metric"], metric)
    n = pc.sum(chosen).as_py() or 0
    first = max(pc.index(chosen, value=True).as_py(), 0)
    if pc.sum(chosen.slice(first, n)).as_py() == n:
        return distribution.slice(first, n)
    return distribution.filter(chosen)


def _is(names: pa.ChunkedArray, metric: str) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(names.type):
        return pc.equal(names, metric)
    # By the numbers: Arrow would make a string of each row.
    parts = [pc.equal(part.indices, part.dictionary.index(metric)) for part in names.chunks]
    return pa.chunked_array(parts, pa.bool_())
