"""Convert packet records to Parquet while they are still being written, to end soon after them.

The converting thread imports the libraries: whoever writes the records does not wait for them.
"""

import mmap
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from taut.core.files import whole

if TYPE_CHECKING:
    from taut.records.raw_file import RawFile, Records

_LOOK_S = 0.002
_FREED_BYTES = 4 << 20


@contextmanager
def converting_packets(raw: Path, out: Path) -> Iterator[None]:
    """Turn packets.bin of `raw` into `out` while the body of the `with` writes it.

    `out` is there whole or not at all; the records are gone afterwards. The header's clock has to
    be final from the start: taut-match's is, taut-generate's is not.
    """
    packets = _Growing(raw / "packets.bin")
    with whole(out) as partial:
        with ThreadPoolExecutor(1, "taut-parquet") as pool:
            converted = pool.submit(packets.convert, partial)
            try:
                yield
            except BaseException:
                packets.is_given_up = True
                raise
            finally:
                packets.has_ended.set()
        converted.result()


@dataclass
class _Growing:
    """A file of packet records that another process writes."""

    path: Path
    has_ended: Event = field(default_factory=Event)
    is_given_up: bool = False

    def convert(self, partial: Path) -> None:
        """Convert until it has ended."""
        # The writer has priority; without a free core the rest is converted after it has ended.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)

        from taut.records.clock import fit_of
        from taut.records.convert import PACKET_SCHEMA, packet_tables, write_parquet
        from taut.records.layout import FILE_HEADER, RecordKind
        from taut.records.raw_file import open_raw

        while self._n_bytes() < FILE_HEADER.itemsize and not self.has_ended.wait(_LOOK_S):
            pass
        if self.is_given_up:
            return
        first = open_raw(self.path, RecordKind.PACKET)
        write_parquet(
            partial, PACKET_SCHEMA, packet_tables(self._take(first), fit_of(first.header))
        )

    def _take(self, first: "RawFile") -> Iterator["Records"]:
        import numpy as np

        from taut.records.convert import CHUNK_RECORDS
        from taut.records.layout import FILE_HEADER

        with self.path.open("r+b") as file:
            file.seek(FILE_HEADER.itemsize)
            freed = 0
            while not self.is_given_up:
                # Asked before looking: what is there after the end is all there will be.
                is_last = self.has_ended.is_set()
                n = (self._n_bytes() - file.tell()) // first.dtype.itemsize
                if n >= CHUNK_RECORDS or (is_last and n > 0):
                    yield np.fromfile(file, first.dtype, min(n, CHUNK_RECORDS))
                    freed = _free(file, freed)
                elif is_last:
                    return
                else:
                    time.sleep(_LOOK_S)

    def _n_bytes(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def _free(file: BinaryIO, start: int) -> int:
    """Make a hole of what was read since `start`; give where the next one starts.

    The writer gets the same memory again: pages a virtual machine never had cost more than they
    take to convert. A file system that knows no holes keeps it all.
    """
    while file.tell() - start >= _FREED_BYTES:
        try:
            with mmap.mmap(file.fileno(), _FREED_BYTES, offset=start) as read:
                # The header stays.
                skipped = mmap.PAGESIZE if start == 0 else 0
                read.madvise(mmap.MADV_REMOVE, skipped, _FREED_BYTES - skipped)
        except OSError:
            return start
        start += _FREED_BYTES
    return start
