"""The exact distributions taut-match counted."""

from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from taut.capture.native import HISTOGRAMS
from taut.records.layout import SERIES, RecordKind
from taut.records.raw_file import open_raw

Integers = npt.NDArray[np.int64]
Counts = tuple[Integers, Integers]
"""Values, ascending, and how often each occurred."""

_NONE: Integers = np.empty(0, np.int64)
# Names of metrics in the record files, where they differ.
_SERIES_OF = {"latency": "service"}


class NativeSeries:
    """Gives the distribution of a metric after the warm-up."""

    def __init__(self, folder: Path) -> None:
        self._found = read_series(folder / HISTOGRAMS)

    def __call__(self, metric: str) -> Counts:
        return self._found.get((_SERIES_OF.get(metric, metric), False), (_NONE, _NONE))


def read_series(path: Path) -> dict[tuple[str, bool], Counts]:
    """Read histograms.bin: by series and whether cold. taut-match writes values ascending."""
    chunks = list(open_raw(path, RecordKind.HISTOGRAM).chunks())
    if not chunks:
        return {}
    rows = np.concatenate(chunks)
    found = {}
    for (number, name), is_cold in product(enumerate(SERIES), (False, True)):
        part = rows[(rows["series"] == number) & (rows["is_cold"] == is_cold)]
        if len(part):
            counts = (part["value_ticks"].astype(np.int64), part["count"].astype(np.int64))
            found[name, is_cold] = counts
    return found
