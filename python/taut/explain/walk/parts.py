"""Gaps that are walked, aside until all are: the last step, to judge them, needs what all teach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib.format import read_array, write_array

from taut.explain.read.spans import Spans
from taut.explain.walk.segments import Segments

_IN_MEMORY = 1 << 24
"""More bytes than this are in a file, which is gone when its program is."""

_OF_SPANS = ("start_ns", "end_ns", "n_packets", "is_lost")
_OF_SEGMENTS = [field.name for field in fields(Segments) if field.name != "details"]


@dataclass(frozen=True)
class Part:
    """Some gaps of one thread, and who had its core in them."""

    spans: Spans
    segments: Segments


class Parts:
    """Context manager: lists of parts, one part a thread; written, then read in the same order."""

    def __init__(self, heads: Sequence[Spans]) -> None:
        """`heads` say of each thread all but its gaps."""
        self._heads, self._n = heads, 0
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> "Parts":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._n

    def append(self, parts: Sequence[Part]) -> None:
        """Write one part of each thread."""
        self._n += 1
        for part in parts:
            columns = [vars(part.spans)[name] for name in _OF_SPANS]
            columns += [vars(part.segments)[name] for name in _OF_SEGMENTS]
            for column in (*columns, np.array(part.segments.details)):
                write_array(self._file, column)

    def __iter__(self) -> Iterator[list[Part]]:
        self._file.seek(0)
        for _ in range(self._n):
            yield [self._read(head) for head in self._heads]

    def _read(self, head: Spans) -> Part:
        spans: dict[str, Any] = {name: read_array(self._file) for name in _OF_SPANS}
        segments = {name: read_array(self._file) for name in _OF_SEGMENTS}
        details = tuple(read_array(self._file).tolist())
        return Part(replace(head, **spans), Segments(**segments, details=details))
