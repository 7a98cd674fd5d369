"""Latency from intent: what a user of an open-loop source sees when the sender was late."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="latency_from_intent",
    unit="ns",
    definition="received - due: counted from when the schedule wanted the packet sent; "
    "captures do not say when that was",
    sql=distribution_sql("received_ns - due_ns", "received_ns IS NOT NULL AND due_ns IS NOT NULL"),
    series="intent",
)
