"""Every gap with its verdict, as a table."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from taut.explain import causes
from taut.explain.arrays import Ints, at_or
from taut.explain.causes import CAUSES
from taut.explain.judge.verdicts import LETTERS, GapVerdicts

MEASURER = "generator"
"""The thread of the spans that are the generator's own gaps."""

GAP_COLUMNS = pa.schema(
    [
        ("start_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("thread", pa.string()),
        ("core", pa.int64()),
        ("cause", pa.string()),
        ("because", pa.string()),  # for a gap of the generator: what held it up
        ("grade", pa.string()),
        ("detail", pa.string()),
        ("by", pa.int64()),  # the thread that caused it; null: not known
        ("net_ns", pa.int64()),  # time that events account for, all causes together
        ("model_ns", pa.int64()),
        ("work_ns", pa.int64()),
        ("residual_ns", pa.int64()),
    ]
)

_IDS = pa.array([cause.id for cause in CAUSES])
_LETTERS = pa.array(list(LETTERS))


def gap_table(verdicts: Sequence[GapVerdicts]) -> pa.Table:
    """One row for each gap of every thread."""
    return pa.concat_tables([GAP_COLUMNS.empty_table(), *(_rows(one) for one in verdicts)])


def _rows(verdicts: GapVerdicts) -> pa.Table:
    n = len(verdicts.spans)
    because = _IDS.take(pa.array(verdicts.cause))
    is_measurer = verdicts.spans.thread == MEASURER
    by = at_or(verdicts.segments.visit_by, verdicts.visit, -1)
    columns = [
        verdicts.spans.start_ns,
        verdicts.spans.end_ns,
        pa.repeat(verdicts.spans.thread, n),
        np.full(n, verdicts.spans.core),
        pa.repeat(causes.MEASURER.id, n) if is_measurer else because,
        because if is_measurer else pa.nulls(n, pa.string()),
        _LETTERS.take(pa.array(verdicts.grade)),
        pa.array(verdicts.segments.details, pa.string()).take(pa.array(verdicts.detail)),
        pa.array(by, pa.int64(), mask=by < 0),
        _by_gap(verdicts, verdicts.shares.net_ns),
        _by_gap(verdicts, verdicts.shares.model_ns),
        verdicts.shares.work_ns,
        verdicts.shares.residual_ns,
    ]
    return pa.table(columns, schema=GAP_COLUMNS)


def _by_gap(verdicts: GapVerdicts, values: Ints) -> Ints:
    total = np.zeros(len(verdicts.spans), np.int64)
    np.add.at(total, verdicts.shares.gap, values)
    return total
