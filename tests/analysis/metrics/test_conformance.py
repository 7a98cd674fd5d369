"""What every metric must be: defined in words, portable, ordered."""

import pytest

from taut.analysis.metrics import METRICS
from taut.testing import metrics

each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)


@each_metric
def test_metric_is_portable_and_ordered(metric):
    metrics.is_portable_and_ordered(metric)


@each_metric
def test_metric_is_defined_in_words(metric):
    metrics.is_defined_in_words(metric)


def test_names_are_unique():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
