"""How late the generator sent: its own precision, not the device's."""

from taut.analysis.metric import Metric, distribution_sql

METRIC = Metric(
    name="departure_error",
    unit="ns",
    definition="sent - due: how far the generator was from its schedule",
    sql=distribution_sql("sent_ns - due_ns", "sent_ns IS NOT NULL AND due_ns IS NOT NULL"),
    series="departure_error",
)
