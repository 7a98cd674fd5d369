"""Reordering after RFC 4737."""

from taut.analysis.metric import Metric, Shape

METRIC = Metric(
    name="out_of_sequence",
    unit="packets",
    definition="received with a sequence number smaller than the next expected "
    "(RFC 4737 Type-P-Reordered)",
    sql="""
SELECT direction, is_cold,
    SUM(CASE WHEN is_out_of_sequence THEN 1 ELSE 0 END) AS out_of_sequence
FROM packet
GROUP BY direction, is_cold
ORDER BY direction, is_cold""",
    shape=Shape.COUNTS,
)
