"""The load as it came back: distance of successive receipts."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="inter_arrival",
    unit="ns",
    definition="received minus the receipt of the packet received before it in the same direction",
    sql=distribution_sql(
        "received_ns - previous_received_ns",
        "previous_received_ns IS NOT NULL",
        table="arrival",
    ),
    series="inter_arrival",
)
