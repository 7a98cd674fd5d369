"""Packet delay variation after RFC 5481: distance from the best packet of its direction."""

from taut.analysis.metric import Metric

METRIC = Metric(
    name="pdv",
    unit="ns",
    definition="latency minus the smallest latency of the same direction after the warm-up "
    "(RFC 5481 4.2); warm-up packets have none",
    sql="""
SELECT d.direction AS direction, d.is_void AS is_void, d.is_cold AS is_cold,
    CAST(d.value_ns - m.least_ns AS BIGINT) AS value_ns, d.n AS n
FROM distribution d
JOIN (
    SELECT direction, MIN(value_ns) AS least_ns
    FROM distribution
    WHERE metric = 'latency' AND NOT is_cold
    GROUP BY direction
) m ON m.direction = d.direction
WHERE d.metric = 'latency' AND NOT d.is_cold
ORDER BY d.direction, d.is_void, d.is_cold, d.value_ns - m.least_ns""",
    derived=True,
)
