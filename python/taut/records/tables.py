"""Names in a run directory: the folder of its trials, and the tables that measuring leaves."""

TRIALS = "trials"

PACKETS = "packets.parquet"
GAPS = "gaps.parquet"
HISTOGRAM = "histogram.parquet"
STAMPS = "stamps.parquet"
EVENTS = "events.parquet"
HEADS = "heads.parquet"
"""Of captures that were searched by content: what was read of each matched frame."""
