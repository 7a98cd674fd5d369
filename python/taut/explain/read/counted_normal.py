"""What is usual in a trial of which only the slow packets were recorded: its histogram knows."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from taut.core.errors import InputError
from taut.core.percentiles import PERCENTILES, percentile_rank
from taut.explain.read.packets import LOW, Normal, parse_over
from taut.records import parquet
from taut.records.documents.generator import warm_count
from taut.records.documents.trial import TrialDocument
from taut.records.tables import HISTOGRAM

_ROUNDED_NS = 1
"""A latency is counted as one number is rounded, and recorded as the difference of two that are."""


def read_counted_normal(trial: Path, document: TrialDocument, over: str) -> Normal:
    """Find the threshold as read_normal does, of all packets, recorded or not."""
    wanted = [("series", "=", "service"), ("is_cold", "=", False)]
    rows = parquet.read_table(trial / HISTOGRAM, filters=wanted)
    order = np.argsort(rows["value_ns"].to_numpy(), kind="stable")
    values, counts = (rows[name].to_numpy()[order] for name in ("value_ns", "n"))
    cumulated = np.cumsum(counts)
    n = int(cumulated[-1]) if cumulated.size else 0
    if not n:
        raise InputError(f"{trial.name}: no packet came back; no latency to explain")
    share = parse_over(over)
    fractions = [LOW, PERCENTILES["p50"]]
    fractions += [] if isinstance(share, int) else [share.as_integer_ratio()]
    ranks = [percentile_rank(n, fraction) for fraction in fractions]
    low, p50, *above = (int(values[np.searchsorted(cumulated, rank)]) for rank in ranks)
    counters = {} if document.generator is None else document.generator.counters
    directions = max(1, pc.count_distinct(rows["direction"]).as_py())
    threshold_ns = share if isinstance(share, int) else above[0]
    at = int(np.searchsorted(values, threshold_ns, "right"))
    return Normal(
        n_packets=n,
        low_ns=low,
        p50_ns=p50,
        threshold_ns=threshold_ns,
        over=over,
        mean_interval_ns=(document.traffic.duration_ns or 0) * directions // n,
        n_void=warm_count(counters, "void"),
        n_gone=warm_count(counters, "lost") + warm_count(counters, "unsent"),
        is_partial=True,
        n_above=n - int(cumulated[at - 1]) if at else n,
        n_at_edge=int(np.sum(counts[at:][values[at:] <= threshold_ns + _ROUNDED_NS])),
    )
