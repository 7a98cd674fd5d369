"""What every metric must be: defined in words, portable, ordered."""

import re

import pytest

from taut.analysis.metrics import METRICS

# Words PostgreSQL or Spark does not have, or reads differently.
NOT_PORTABLE = re.compile(
    r"\b(QUALIFY|EXCLUDE|FILTER|LIST|STRUCT|UNNEST|ASOF|DOUBLE|UBIGINT|HUGEINT|quantile\w*)\b|::"
    r"|\b(FLOOR|ROUND|AVG|STDDEV\w*)\b|/"
    r"|GROUP BY ALL|SELECT \*",
    re.IGNORECASE,
)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_metric_is_portable_and_ordered(metric):
    assert not NOT_PORTABLE.search(metric.sql)
    assert "ORDER BY" in metric.sql
    assert metric.sql == re.sub(r"\b(select|from|where|group|order|join)\b", str.upper, metric.sql)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_metric_is_defined_in_words(metric):
    assert len(metric.definition) > 20
    assert metric.unit in ("ns", "packets")


def test_names_are_unique():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
