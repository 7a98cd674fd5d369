"""A trial at a glance, for the line the terminal shows when it ends; results come from analysis.

Measuring never imports analysis, so this reads two percentiles of the generator's histogram itself.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq


def glance_at(trial: Path, meta: dict[str, Any]) -> dict[str, Any]:
    """Give p50_ns, p99_ns (None without packets), loss and void ratio of a whole trial."""
    counters = (meta.get("generator") or {}).get("counters")
    if not counters:
        return {}
    # Like the percentiles: of what was due after the warm-up.
    due = counters["due"] - counters["cold"]
    unsent = counters["unsent"] - counters["unsent_cold"]
    return {
        **_percentiles(trial / "histogram.parquet"),
        "loss_ratio": (counters["lost"] - counters["lost_cold"]) / max(1, due - unsent),
        "unsent": unsent,
        "void_ratio": (counters["void"] - counters["void_cold"]) / max(1, due),
        "achieved_pps": meta["generator"].get("achieved_pps"),
    }


def _percentiles(histogram: Path) -> dict[str, int | None]:
    wanted = [("series", "=", "service"), ("is_cold", "=", False)]
    rows = pq.read_table(histogram, columns=["value_ns", "n"], filters=wanted)
    values, counts = rows["value_ns"].to_numpy(), rows["n"].to_numpy().astype(np.int64)
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(counts[order])
    if cumulated.size == 0 or cumulated[-1] == 0:
        return {"p50_ns": None, "p99_ns": None}
    return {
        name: int(values[order][np.searchsorted(cumulated, share * cumulated[-1])])
        for name, share in (("p50_ns", 0.5), ("p99_ns", 0.99))
    }
