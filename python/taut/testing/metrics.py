"""What every metric must be: defined in words, portable, ordered."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from taut.analysis.distribution import measure_packets, select_metric
from taut.analysis.metric import Metric
from taut.records.tables import PACKETS
from taut.storage.engines import open_engine
from taut.testing.packets import write_packets

NOT_PORTABLE = re.compile(
    r"\b(QUALIFY|EXCLUDE|FILTER|LIST|STRUCT|UNNEST|ASOF|DOUBLE|UBIGINT|HUGEINT|quantile\w*)\b|::"
    r"|\b(FLOOR|ROUND|AVG|STDDEV\w*)\b|/"
    r"|GROUP BY ALL|SELECT \*",
    re.IGNORECASE,
)
"""Words PostgreSQL or Spark does not have, or reads differently."""

_KEYWORDS = re.compile(r"\b(select|from|where|group|order|join)\b")
_DEFINED_LETTERS = 20


def conforms(metric: Metric) -> None:
    """Ask all that follows."""
    is_portable_and_ordered(metric)
    is_defined_in_words(metric)


def is_portable_and_ordered(metric: Metric) -> None:
    """Every engine reads its SELECT alike, and gives rows in one order."""
    word = NOT_PORTABLE.search(metric.sql)
    assert not word, f"{metric.name}: its SQL has {word}, which not every engine has"
    assert "ORDER BY" in metric.sql, f"{metric.name}: its SQL has no ORDER BY"
    lower = _KEYWORDS.search(metric.sql)
    assert not lower, f"{metric.name}: its SQL has {lower}; keywords are in capitals"


def is_defined_in_words(metric: Metric) -> None:
    """A reader of the report learns what it is, and in which unit."""
    is_said = len(metric.definition) > _DEFINED_LETTERS
    assert is_said, f"{metric.name}: {metric.definition!r} defines nothing"
    assert metric.unit in ("ns", "packets"), f"{metric.name}: unit {metric.unit!r}"


def values_of(
    metric: Metric,
    rows: Iterable[Mapping[str, int | None]],
    folder: Path,
    engine: str = "duckdb",
    url: str | None = None,
) -> list[int]:
    """Give every value it has of some packets (packets.py), ascending; it stands in METRICS."""
    packets = write_packets(folder / PACKETS, rows)
    with open_engine(engine, url) as opened:
        measured = measure_packets(opened, packets, n_flows=1)
    assert metric.name not in measured.left_out, measured.left_out[metric.name]
    found = select_metric(measured.distribution, metric.name).to_pylist()
    return [row["value_ns"] for row in found for _ in range(row["n"])]
