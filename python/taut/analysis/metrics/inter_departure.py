"""The load as it really left: distance of successive departures."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="inter_departure",
    unit="ns",
    definition="sent minus the sending time of the packet before it in the same direction",
    sql=distribution_sql(
        "sent_ns - previous_sent_ns",
        "previous_sent_ns IS NOT NULL AND sent_ns IS NOT NULL",
        table="successive",
    ),
    series="inter_departure",
)
