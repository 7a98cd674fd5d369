"""Packets received beyond the first, timely receipt of each packet sent."""

from taut.analysis.metric import Metric, Shape

METRIC = Metric(
    name="extra_receipts",
    unit="packets",
    definition="late: received after the deadline (and lost); duplicates: received again; "
    "orphans: received, never sent by this run",
    sql="""
SELECT direction, is_cold,
    SUM(CASE WHEN is_late THEN 1 ELSE 0 END) AS late,
    SUM(CASE WHEN is_duplicate THEN 1 ELSE 0 END) AS duplicates,
    SUM(CASE WHEN is_orphan THEN 1 ELSE 0 END) AS orphans
FROM extra
GROUP BY direction, is_cold
ORDER BY direction, is_cold""",
    shape=Shape.COUNTS,
)
