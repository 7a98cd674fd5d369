"""What a metric is: a definition in words and one portable SELECT that says the same."""

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
