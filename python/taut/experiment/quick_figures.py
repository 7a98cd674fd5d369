"""The few figures that the terminal shows when a trial ends; results come from analysis.

Measuring never imports analysis, so two percentiles are read here from the generator's histogram.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taut.records import parquet
from taut.records.documents.generator import warm_count
from taut.records.documents.trial import TrialDocument
from taut.records.tables import HISTOGRAM


@dataclass(frozen=True)
class QuickFigures:
    """Figures of one trial, all of packets due after the warm-up."""

    p50_ns: int | None
    """None: no packet came back."""
    p99_ns: int | None
    loss_ratio: float
    unsent: int
    void_ratio: float


def read_quick_figures(trial: Path, document: TrialDocument) -> QuickFigures | None:
    """Read the figures of a whole trial; None where its generator counted nothing."""
    counters = {} if document.generator is None else document.generator.counters
    if not counters:
        return None
    due, unsent, lost, void = (
        warm_count(counters, name) for name in ("due", "unsent", "lost", "void")
    )
    p50_ns, p99_ns = _percentiles(trial / HISTOGRAM)
    return QuickFigures(
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        loss_ratio=lost / max(1, due - unsent),
        unsent=unsent,
        void_ratio=void / max(1, due),
    )


def _percentiles(histogram: Path) -> tuple[int | None, int | None]:
    wanted = [("series", "=", "service"), ("is_cold", "=", False)]
    rows = parquet.read_table(histogram, columns=["value_ns", "n"], filters=wanted)
    values, counts = rows["value_ns"].to_numpy(), rows["n"].to_numpy().astype(np.int64)
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(counts[order])
    if cumulated.size == 0 or cumulated[-1] == 0:
        return None, None
    p50_ns, p99_ns = (
        int(values[order][np.searchsorted(cumulated, share * cumulated[-1])])
        for share in (0.5, 0.99)
    )
    return p50_ns, p99_ns
