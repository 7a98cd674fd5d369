"""Inter-packet delay variation after RFC 5481: jitter with its sign."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="ipdv",
    unit="ns",
    definition="latency minus the latency of the packet before it in the same flow, signed "
    "(RFC 5481 4.1)",
    sql=distribution_sql("latency_ns - previous_latency_ns", "is_pair", table="in_flow"),
    series="ipdv",
)
