"""Numbers of a distribution: percentiles with their support, mean, spread, extremes.

Percentile p is percentile_disc: the smallest observed value whose cumulative share is >= p.  Its
95 % confidence interval comes from order statistics: the ranks between which the true quantile
lies with 95 % probability if packets were independent.  Packets of one stall are not, so the
interval of a single repetition is a lower bound of the doubt; repetitions show the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pyarrow as pa
from scipy.stats import binom

from taut.storage.engine import Engine

PERCENTILES: Mapping[str, tuple[int, int]] = {
    "p50": (50, 100),
    "p90": (90, 100),
    "p99": (99, 100),
    "p99.9": (999, 1000),
    "p99.99": (9999, 10_000),
    "p99.999": (99_999, 100_000),
    "p99.9999": (999_999, 1_000_000),
}
"""Each as an exact fraction, so that ranks are integers and no engine rounds."""

SUPPORT = 10
"""A percentile with fewer packets above it than this says more about luck than about the path."""

_CONFIDENCE = 0.95

MAIN = "main"
WITHOUT_VOID = "without_void"
COLD = "cold"


@dataclass(frozen=True)
class Summary:
    """One population of one metric; every value in nanoseconds, None where nothing was seen."""

    n: int
    least: int | None
    mean: float | None
    stdev: float | None
    greatest: int | None
    percentiles: Mapping[str, int | None]
    n_above: Mapping[str, int]
    intervals: Mapping[str, tuple[int | None, int | None]]

    def unsupported(self) -> list[str]:
        """Percentiles with fewer than SUPPORT packets ranked above them."""
        return [p for p in PERCENTILES if self.n_above[p] < SUPPORT]

    def as_json(self) -> dict[str, object]:
        """The block of results.json."""
        return {
            "n": self.n,
            "min": self.least,
            "mean": self.mean,
            "stdev": self.stdev,
            **self.percentiles,
            "max": self.greatest,
        }


EMPTY = Summary(
    0,
    None,
    None,
    None,
    None,
    dict.fromkeys(PERCENTILES),
    dict.fromkeys(PERCENTILES, 0),
    dict.fromkeys(PERCENTILES, (None, None)),
)


def selections(directions: Sequence[int]) -> dict[str, str]:
    """Name the populations: main and without void packets, cold; each direction if there are two.

    The main figures exclude the declared warm-up and include void packets.
    """
    named = {
        MAIN: "NOT is_cold",
        WITHOUT_VOID: "NOT is_cold AND NOT is_void",
        COLD: "is_cold",
    }
    if len(directions) > 1:
        for direction in directions:
            only = f"direction = {direction}"
            named[f"{MAIN}_{direction}"] = f"NOT is_cold AND {only}"
            named[f"{WITHOUT_VOID}_{direction}"] = f"NOT is_cold AND NOT is_void AND {only}"
    return named


def summarise(engine: Engine, metric: str, populations: Mapping[str, str]) -> dict[str, Summary]:
    """Summarise one metric of the table `distribution` for each population."""
    engine.materialise("cumulated", _cumulated_sql(metric, populations))
    moments = {row["selection"]: row for row in engine.query(_MOMENTS).to_pylist()}
    ranks = {name: _ranks(int(row["n"])) for name, row in moments.items()}
    values = _values_at(engine, ranks)
    return {
        name: _summary(moments[name], ranks[name], values[name]) if name in moments else EMPTY
        for name in populations
    }


def _cumulated_sql(metric: str, populations: Mapping[str, str]) -> str:
    chosen = "\nUNION ALL\n".join(
        f"SELECT '{name}' AS selection, value_ns, CAST(SUM(n) AS BIGINT) AS n\n"
        f"FROM distribution WHERE metric = '{metric}' AND {condition}\nGROUP BY value_ns"
        for name, condition in populations.items()
    )
    return f"""
SELECT selection, value_ns, n,
    CAST(SUM(n) OVER (PARTITION BY selection ORDER BY value_ns) AS BIGINT) AS upto
FROM ({chosen}) chosen"""


# Sums of values are exact decimals: they do not fit 64 bits.  Their squares do not fit 38 digits
# either, so those are doubles: 1e0 is one in DuckDB and Spark, and exact in PostgreSQL.
_MOMENTS = """
SELECT selection, CAST(SUM(n) AS BIGINT) AS n, MIN(value_ns) AS least, MAX(value_ns) AS greatest,
    SUM(CAST(value_ns AS DECIMAL(19, 0)) * CAST(n AS DECIMAL(19, 0))) AS total,
    SUM((value_ns * 1e0) * (value_ns * 1e0) * n) AS squares
FROM cumulated
GROUP BY selection
ORDER BY selection"""

_VALUES = """
SELECT w.selection AS selection, w.wanted AS wanted, MIN(c.value_ns) AS value_ns
FROM wanted w
JOIN cumulated c
    ON c.selection = w.selection AND c.upto >= w.wanted AND c.upto - c.n < w.wanted
GROUP BY w.selection, w.wanted
ORDER BY w.selection, w.wanted"""


@dataclass(frozen=True)
class _Ranks:
    at: int
    low: int
    high: int


def percentile_rank(n: int, fraction: tuple[int, int]) -> int:
    """The rank, from 1, of percentile_disc among n values."""
    over, under = fraction
    return max(1, -(-n * over // under))


def _ranks(n: int) -> dict[str, _Ranks]:
    ranks = {}
    tail = (1 - _CONFIDENCE) / 2
    for name, (over, under) in PERCENTILES.items():
        p = over / under
        low, high = binom.ppf(tail, n, p), binom.ppf(1 - tail, n, p) + 1
        ranks[name] = _Ranks(percentile_rank(n, (over, under)), int(low), int(high))
    return ranks


def _values_at(
    engine: Engine, ranks: Mapping[str, Mapping[str, _Ranks]]
) -> dict[str, dict[int, int]]:
    """Look up the values at all ranks wanted; ranks outside 1..n have none."""
    rows = {
        (name, rank)
        for name, of in ranks.items()
        for r in of.values()
        for rank in (r.at, r.low, r.high)
    }
    names, wanted = zip(*sorted(rows), strict=True) if rows else ((), ())
    table = {"selection": pa.array(names, pa.string()), "wanted": pa.array(wanted, pa.int64())}
    engine.load({"wanted": pa.table(table)})
    found: dict[str, dict[int, int]] = {name: {} for name in ranks}
    for row in engine.query(_VALUES).to_pylist():
        found[row["selection"]][int(row["wanted"])] = int(row["value_ns"])
    return found


def _summary(
    moments: Mapping[str, Any], ranks: Mapping[str, _Ranks], values: Mapping[int, int]
) -> Summary:
    n, total, squares = int(moments["n"]), int(moments["total"]), float(moments["squares"])
    # Rounding of the squares must not make a constant's variance negative.
    variance = max(squares - total * (total / n), 0.0) / (n - 1) if n > 1 else 0.0
    return Summary(
        n=n,
        least=int(moments["least"]),
        mean=total / n,
        stdev=sqrt(variance),
        greatest=int(moments["greatest"]),
        percentiles={name: values[r.at] for name, r in ranks.items()},
        n_above={name: n - r.at for name, r in ranks.items()},
        intervals={name: (values.get(r.low), values.get(r.high)) for name, r in ranks.items()},
    )
