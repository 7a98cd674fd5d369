"""The columns to search: those that vary, without the sequences of those that count."""

from collections.abc import Iterator

import numpy as np

from taut.analysis.content.counters import breaks_sequence, find_counter
from taut.analysis.content.fields import Column, Places, named_columns
from taut.analysis.content.heads import FrameHeads
from taut.analysis.content.layers import find_layers


def searchable_columns(heads: FrameHeads, counters: dict[str, str]) -> Iterator[Column]:
    """Give named fields, then bytes, then words of bytes that vary and do not count.

    `counters` receives each column that counts and how.
    """
    layers = find_layers(heads)
    for column in named_columns(heads, layers):
        searched, _ = _without_count(column, counters)
        if searched:
            yield searched
    places = Places(heads, layers)
    for region, n_bytes in places.regions.items():
        is_free = []
        for offset in range(n_bytes):
            searched, counts = _without_count(places.column(region, offset, 1), counters)
            is_free.append(searched is not None and not counts)
            if searched:
                yield searched
        yield from _words(places, region, is_free)


def _words(places: Places, region: str, is_free: list[bool]) -> Iterator[Column]:
    """Words that say more than their parts: each half varies."""
    n_bytes = len(is_free)
    for offset in range(n_bytes - 1):
        if all(is_free[offset : offset + 2]):
            yield places.column(region, offset, 2)
    for offset in range(0, n_bytes - 3, 4):
        if any(is_free[offset : offset + 2]) and any(is_free[offset + 2 : offset + 4]):
            yield places.column(region, offset, 4)


def _without_count(column: Column, counters: dict[str, str]) -> tuple[Column | None, bool]:
    """Leave out what counts: the column to search, if any, and whether it counts."""
    values = column.values if column.valid is None else column.values[column.valid]
    if len(values) < 2 or values.min() == values.max():
        return None, False
    counter = find_counter(values)
    if counter is None:
        return column, False
    counters[column.name] = str(counter)
    is_odd = np.zeros(len(column.values), bool)
    where = slice(None) if column.valid is None else column.valid
    is_odd[where] = breaks_sequence(values, counter)
    if np.count_nonzero(is_odd) < 2:
        return None, True
    return Column(column.name, column.kind, column.values, is_odd, column.show), True
