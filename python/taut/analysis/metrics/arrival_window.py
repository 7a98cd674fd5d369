"""The error bar of a software receive stamp."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="arrival_window",
    unit="ns",
    definition="time since the previous poll of the receiving port: the packet arrived "
    "somewhere inside it",
    sql=distribution_sql("arrival_window_ns", "received_ns IS NOT NULL"),
    series="arrival_window",
)
