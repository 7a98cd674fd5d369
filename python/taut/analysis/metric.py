"""What a metric is: a definition in words and one portable SELECT that says the same."""

import re
from dataclasses import dataclass
from enum import Enum


class Shape(Enum):
    """What the rows of a metric's SELECT are."""

    DISTRIBUTION = "direction, is_void, is_cold, value_ns, n: every value with its exact count"
    COUNTS = "direction, is_cold and one column a counter"


@dataclass(frozen=True)
class Metric:
    """One measured quantity.

    The SELECT reads `packet` (one row a packet due), `successive` (a packet beside the one before
    it), `in_flow` (a packet beside the one before it in its flow), `arrival` (a packet beside the
    one received before it), `extra` (rows beyond the first receipt) or `distribution` (metrics
    computed before it).
    """

    name: str
    unit: str
    definition: str
    sql: str
    shape: Shape = Shape.DISTRIBUTION
    series: str | None = None
    """The same quantity in histogram.parquet, for trials recorded without every packet."""
    derived: bool = False
    """Computed from the whole distribution of another metric, not chunk by chunk."""
    of_whole_trial: bool = False
    """Computed once: what it reads belongs to no chunk of the trial."""


def distribution_sql(value: str, where: str, table: str = "packet") -> str:
    """The SELECT of a metric whose value is one expression over one row."""
    return f"""
SELECT direction, is_void, is_cold, CAST({value} AS BIGINT) AS value_ns, COUNT(*) AS n
FROM {table}
WHERE {where}
GROUP BY direction, is_void, is_cold, CAST({value} AS BIGINT)
ORDER BY direction, is_void, is_cold, value_ns"""


def refuses(metric: Metric) -> str | None:
    """Say why a metric may not come from a plug-in; None: it may.

    Counters have places of their own in the documents, and a series is counted by taut-generate.
    """
    if not re.fullmatch("[a-z][a-z0-9_]*", metric.name):
        return f"name {metric.name!r}: small letters, digits and _ are wanted"
    if metric.shape is not Shape.DISTRIBUTION or metric.of_whole_trial:
        return "it counts packets; of a plug-in's metric, a distribution is wanted"
    if metric.unit != "ns":
        return f"its unit is {metric.unit!r}; ns is wanted"
    if metric.series is not None:
        return "it has a series; those of histogram.parquet are taut's own"
    return None
