"""Service latency: what the path did to a packet once it was handed over."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="latency",
    unit="ns",
    definition="received - sent: the stamp right after the receive call minus "
    "the stamp right before the transmit call",
    sql=distribution_sql("received_ns - sent_ns", "received_ns IS NOT NULL"),
    series="service",
)
