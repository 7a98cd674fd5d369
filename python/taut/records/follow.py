"""Parquet of packet records while they are still being written: there soon after the last one.

Libraries are imported by the thread that converts: who writes the records need not wait for them.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taut.records.raw_file import RawFile, Records

_LOOK_S = 0.002


@contextmanager
def converting_packets(raw: Path, out: Path) -> Iterator[None]:
    """Convert packets.bin of `raw` to `out` while the block has it written: whole or not at all.

    What the header says of the clock has to hold from the start, as a matcher's does; where it
    changed by the end, everything is converted once more.
    """
    partial = out.with_name(f".tmp-{out.name}")
    packets = _Growing(raw / "packets.bin")
    try:
        with ThreadPoolExecutor(1, "taut-parquet") as pool:
            converted = pool.submit(packets.convert, partial)
            try:
                yield
            except BaseException:
                packets.is_given_up = True
                raise
            finally:
                packets.has_ended.set()
        if packets.is_as(converted.result()):
            partial.replace(out)
        else:
            _convert_again(raw, out)
    finally:
        partial.unlink(missing_ok=True)


def _convert_again(raw: Path, out: Path) -> None:
    from taut.records.convert import convert_packets

    convert_packets(raw, out)


@dataclass
class _Growing:
    """A file of packet records that another process writes."""

    path: Path
    has_ended: Event = field(default_factory=Event)
    is_given_up: bool = False
    n_records: int = 0

    def convert(self, partial: Path) -> "RawFile | None":
        """Convert until it has ended; give the file as it was at first. None: there was none."""
        from taut.records.clock import fit_of
        from taut.records.convert import PACKET_SCHEMA, packet_tables, write_parquet
        from taut.records.layout import FILE_HEADER

        while self._n_bytes() < FILE_HEADER.itemsize:
            if self.has_ended.wait(_LOOK_S):
                return None
        first = self._open()
        tables = packet_tables(self._chunks(first), fit_of(first.header))
        write_parquet(partial, PACKET_SCHEMA, tables)
        return first

    def is_as(self, first: "RawFile | None") -> bool:
        """Whether the file, now whole, is what was converted."""
        from taut.records.clock import fit_of

        whole = self._open()
        return (
            first is not None
            and fit_of(first.header) == fit_of(whole.header)
            and self.n_records == whole.n_records
        )

    def _open(self) -> "RawFile":
        from taut.records.layout import RecordKind
        from taut.records.raw_file import open_raw

        return open_raw(self.path, RecordKind.PACKET)

    def _chunks(self, first: "RawFile") -> Iterator["Records"]:
        import numpy as np

        from taut.records.convert import CHUNK_RECORDS
        from taut.records.layout import FILE_HEADER

        with self.path.open("rb") as file:
            file.seek(FILE_HEADER.itemsize)
            while not self.is_given_up:
                # Asked first: what is there after the end is all there is.
                is_last = self.has_ended.is_set()
                n_bytes = self._n_bytes() - FILE_HEADER.itemsize
                n = n_bytes // first.dtype.itemsize - self.n_records
                if n >= CHUNK_RECORDS or (is_last and n > 0):
                    records = np.fromfile(file, first.dtype, min(n, CHUNK_RECORDS))
                    self.n_records += len(records)
                    yield records
                elif is_last:
                    return
                else:
                    time.sleep(_LOOK_S)

    def _n_bytes(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0
