"""Jitter after RFC 4689 3.2.5."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="jitter",
    unit="ns",
    definition="absolute difference of the latencies of two successive packets of a flow; "
    "undefined across a lost packet (RFC 4689 3.2.5)",
    sql=distribution_sql("ABS(latency_ns - previous_latency_ns)", "is_pair", table="in_flow"),
    series="jitter",
)
