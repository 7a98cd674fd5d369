"""Rows in the order of time, of which no more are in memory than were asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from taut.explain.arrays import AFTER_ALL, Ints, joined
from taut.explain.read.events import Events
from taut.explain.read.spans import Spans

Rows = TypeVar("Rows", Events, Spans)


def rows_together(parts: Sequence[Rows]) -> Rows:
    """Make one of parts that follow one another; there is at least one, which may be empty."""
    # An empty one may have wider columns.
    some: Sequence[Rows] = [part for part in parts if len(part)] or parts[:1]
    return replace(some[0], **joined(some)) if len(some) > 1 else some[0]


class Ahead(Generic[Rows]):
    """Rows that are read, in the order of time, when they are asked for."""

    def __init__(self, none: Rows, parts: Iterator[Rows]) -> None:
        """Read parts that follow one another; `none` is one without a row."""
        self._held: list[Rows] = [none]
        self._parts: Iterator[Rows] = parts

    def nth(self, n: int) -> int:
        """Give the time of the nth row from here on; AFTER_ALL: there are not so many."""
        while sum(map(len, self._held)) < n and self._read():
            pass
        for part in self._held:
            if n <= len(part):
                return int(_times(part)[n - 1])
            n -= len(part)
        return AFTER_ALL

    def before(self, end_ns: int) -> Rows:
        """Give the rows before a moment, and keep them."""
        while self._last() < end_ns and self._read():
            pass
        rows = rows_together(self._held)
        self._held = [rows]
        return rows.take(slice(int(np.searchsorted(_times(rows), end_ns))))

    def take(self, end_ns: int) -> Rows:
        """Give the rows before a moment, and go on behind them."""
        rows = self.before(end_ns)
        [held] = self._held
        # A copy: a part of an array keeps the whole of it in memory.
        self._held = [held.take(np.arange(len(rows), len(held)))]
        return rows

    def _last(self) -> int:
        times = _times(self._held[-1])
        return int(times[-1]) if len(times) else -AFTER_ALL

    def _read(self) -> bool:
        """Read the next part that is not empty; whether there was one."""
        part = next(filter(len, self._parts), None)
        if part is not None:
            self._held.append(part)
        return part is not None


def _times(rows: Events | Spans) -> Ints:
    return rows.time_ns if isinstance(rows, Events) else rows.start_ns
