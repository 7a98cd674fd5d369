"""The columns to search: those that vary, without values that only count packets."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from taut.analysis.content.counters import Counter, breaks_sequence, find_counter
from taut.analysis.content.fields import Column, Places, named_columns
from taut.analysis.content.heads import FrameHeads
from taut.analysis.content.layers import find_layers


@dataclass(frozen=True)
class Counted:
    """A column that counts, how, and its packets that keep the count."""

    counter: Counter
    column: Column


def searchable_columns(heads: FrameHeads, counted: dict[str, Counted]) -> Iterator[Column]:
    """Give named fields, then bytes, then words of bytes that vary and do not count.

    `counted` receives each column that counts; whole once all columns were given.
    """
    layers = find_layers(heads)
    for column in named_columns(heads, layers):
        searched, _ = _without_count(column, counted)
        if searched:
            yield searched
    places = Places(heads, layers)
    for region, n_bytes in places.regions.items():
        is_free, counters = [], []
        for offset in range(n_bytes):
            searched, counter = _without_count(places.column(region, offset, 1), counted)
            is_free.append(searched is not None and counter is None)
            counters.append(counter)
            if searched:
                yield searched
        yield from _words(places, region, is_free)
        _count_in_words(places, region, counters, counted)


def _words(places: Places, region: str, is_free: list[bool]) -> Iterator[Column]:
    """Give words (2 or 4 bytes) both of whose halves vary: others say no more than one half."""
    n_bytes = len(is_free)
    for offset in range(n_bytes - 1):
        if all(is_free[offset : offset + 2]):
            yield places.column(region, offset, 2)
    for offset in range(0, n_bytes - 3, 4):
        if any(is_free[offset : offset + 2]) and any(is_free[offset + 2 : offset + 4]):
            yield places.column(region, offset, 4)


def _count_in_words(
    places: Places, region: str, counters: list[Counter | None], counted: dict[str, Counted]
) -> None:
    """Find counters of two bytes, in either order: one byte counts, the other is its high byte."""
    for offset, pair in enumerate(pairwise(counters)):
        if all(pair) and sum(c.is_slow for c in pair if c) == 1:
            _without_count(places.column(region, offset, 2), counted)


def _without_count(
    column: Column, counted: dict[str, Counted]
) -> tuple[Column | None, Counter | None]:
    """Leave out what counts: the column to search, if any, and how it counts."""
    values = column.values if column.valid is None else column.values[column.valid]
    if len(values) < 2 or values.min() == values.max():
        return None, None
    counter = find_counter(values)
    if counter is None:
        return column, None
    is_odd, is_regular = np.zeros((2, len(column.values)), bool)
    where = slice(None) if column.valid is None else column.valid
    is_odd[where] = breaks_sequence(values, counter)
    is_regular[where] = True
    is_regular &= ~is_odd
    counted[column.name] = Counted(counter, replace(column, valid=is_regular))
    if np.count_nonzero(is_odd) < 2:
        return None, counter
    return replace(column, valid=is_odd), counter
