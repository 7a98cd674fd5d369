"""The table of metrics, in the order they are computed: a new metric is a row here.

Those of plug-ins stand behind. What the fields mean stands in metric.py. Most are one expression
over one row of a table; the SELECT of the others is written out.
"""

from taut.analysis.metric import Metric, Shape, distribution_sql, refuses
from taut.core.plugins import Family

_OURS: tuple[Metric, ...] = (
    # Service latency: what the path did to a packet once it was handed over.
    Metric(
        name="latency",
        unit="ns",
        definition="received - sent: the stamp right after the receive call minus "
        "the stamp right before the transmit call",
        sql=distribution_sql("received_ns - sent_ns", "received_ns IS NOT NULL"),
        series="service",
    ),
    # Latency from intent: what a user of an open-loop source sees when the sender was late.
    Metric(
        name="latency_from_intent",
        unit="ns",
        definition="received - due: counted from when the schedule wanted the packet sent; "
        "captures do not say when that was",
        sql=distribution_sql(
            "received_ns - due_ns", "received_ns IS NOT NULL AND due_ns IS NOT NULL"
        ),
        series="intent",
    ),
    # Jitter as |IPDV|; RFC 4689 3.2.5 takes packets in the order received, and across losses.
    Metric(
        name="jitter",
        unit="ns",
        definition="absolute difference of the latencies of two successive packets of a flow; "
        "in the order sent and not across a lost packet (|IPDV|: that of RFC 4689 3.2.5 where "
        "nothing is lost or reordered); of captures, whatever their flow",
        sql=distribution_sql("ABS(latency_ns - previous_latency_ns)", "is_pair", table="in_flow"),
        series="jitter",
    ),
    # Inter-packet delay variation after RFC 5481: jitter with its sign.
    Metric(
        name="ipdv",
        unit="ns",
        definition="latency minus the latency of the packet before it in the same flow, signed "
        "(RFC 5481 4.1); of captures, whatever its flow",
        sql=distribution_sql("latency_ns - previous_latency_ns", "is_pair", table="in_flow"),
        series="ipdv",
    ),
    # Packet delay variation after RFC 5481: distance from the best packet of its direction.
    Metric(
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
    ),
    # How late the generator sent: its own precision, not the device's.
    Metric(
        name="departure_error",
        unit="ns",
        definition="sent - due: how far the generator was from its schedule",
        sql=distribution_sql("sent_ns - due_ns", "sent_ns IS NOT NULL AND due_ns IS NOT NULL"),
        series="departure_error",
    ),
    # The load as it really left: distance of successive departures.
    Metric(
        name="inter_departure",
        unit="ns",
        definition="sent minus the sending time of the packet before it in the same direction; "
        "none beside a packet that was unsent, or a frame of a capture that is no packet",
        sql=distribution_sql(
            "sent_ns - previous_sent_ns",
            "previous_sent_ns IS NOT NULL AND sent_ns IS NOT NULL",
            table="successive",
        ),
        series="inter_departure",
    ),
    # The load as it came back: distance of successive receipts.
    Metric(
        name="inter_arrival",
        unit="ns",
        definition="received minus the receipt of the packet received before it in the same "
        "direction",
        sql=distribution_sql(
            "received_ns - previous_received_ns",
            "previous_received_ns IS NOT NULL",
            table="arrival",
        ),
        series="inter_arrival",
    ),
    # The error bar of a software receive stamp.
    Metric(
        name="arrival_window",
        unit="ns",
        definition="time since the previous poll of the receiving port: the packet arrived "
        "somewhere inside it",
        sql=distribution_sql("arrival_window_ns", "received_ns IS NOT NULL"),
        series="arrival_window",
    ),
    # What became of every packet due: sent or not, received or lost.
    Metric(
        name="loss",
        unit="packets",
        definition="lost: sent and not received before the deadline; unsent: due, but the "
        "transmit call refused it; void: the generator was late: a gap of it overlaps sending or "
        "arrival window, or its backlog, or a device that had to wait for it, made the packet late "
        "or lost",
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
    ),
    # Packets received beyond the first, timely receipt of each packet sent.
    Metric(
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
        of_whole_trial=True,
    ),
    # Reordering after RFC 4737.
    Metric(
        name="out_of_sequence",
        unit="packets",
        definition="received with a sequence number smaller than the next expected of its flow "
        "(RFC 4737 Type-P-Reordered); of captures, than that of a packet received before it",
        sql="""
SELECT direction, is_cold,
    SUM(CASE WHEN is_out_of_sequence THEN 1 ELSE 0 END) AS out_of_sequence
FROM packet
GROUP BY direction, is_cold
ORDER BY direction, is_cold""",
        shape=Shape.COUNTS,
    ),
)

FAMILY = Family("taut.metrics", Metric, _OURS, lambda metric: metric.name, refuses=refuses)

ADDED: tuple[Metric, ...] = tuple(FAMILY.added().values())
"""Those of plug-ins; taut-count does not know them, so an engine counts them."""

METRICS: tuple[Metric, ...] = (*_OURS, *ADDED)
