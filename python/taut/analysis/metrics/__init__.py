"""The metrics, in the order they are computed. To add one: a file here and a line in METRICS."""

from taut.analysis.metric import Metric
from taut.analysis.metrics import (
    arrival_window,
    departure_error,
    extra_receipts,
    inter_arrival,
    inter_departure,
    ipdv,
    jitter,
    latency,
    latency_from_intent,
    loss,
    out_of_sequence,
    pdv,
)

METRICS: tuple[Metric, ...] = (
    latency.METRIC,
    latency_from_intent.METRIC,
    jitter.METRIC,
    ipdv.METRIC,
    pdv.METRIC,
    departure_error.METRIC,
    inter_departure.METRIC,
    inter_arrival.METRIC,
    arrival_window.METRIC,
    loss.METRIC,
    extra_receipts.METRIC,
    out_of_sequence.METRIC,
)
