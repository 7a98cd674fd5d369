"""What became of every packet due: sent or not, received or lost."""

from taut.analysis.metric import Metric, Shape

METRIC = Metric(
    name="loss",
    unit="packets",
    definition="lost: sent and not received before the deadline; unsent: due, but the transmit "
    "call refused it; void: the generator was late, a gap of it overlaps sending or arrival window",
    sql="""
SELECT direction, is_cold,
    COUNT(*) AS due,
    COUNT(sent_ns) AS sent,
    SUM(CASE WHEN is_unsent THEN 1 ELSE 0 END) AS unsent,
    COUNT(received_ns) AS matched,
    SUM(CASE WHEN sent_ns IS NOT NULL AND received_ns IS NULL THEN 1 ELSE 0 END) AS lost,
    SUM(CASE WHEN is_void THEN 1 ELSE 0 END) AS void,
    SUM(CASE WHEN is_void AND received_ns IS NOT NULL THEN 1 ELSE 0 END) AS void_matched
FROM packet
GROUP BY direction, is_cold
ORDER BY direction, is_cold""",
    shape=Shape.COUNTS,
)
