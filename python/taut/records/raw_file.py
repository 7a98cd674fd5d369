"""Read one binary record file: header, then records in chunks, at constant memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from taut.core.errors import InputError
from taut.records.layout import FILE_HEADER, MAGIC, RECORDS, VERSION, RecordKind

Records = npt.NDArray[Any]  # structured: numpy has no narrower type

# 12 MiB of packet records: large enough for the disk, small beside any machine's memory.
CHUNK_RECORDS = 1 << 18


@dataclass(frozen=True)
class RawFile:
    """A record file whose header was read and found valid."""

    path: Path
    header: np.void
    kind: RecordKind
    n_records: int
    """Where the writer died, of what reached the disk."""

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The records' type; bytes of the frame follow a frame record, as field `bytes`."""
        plain = RECORDS[self.kind]
        extra = int(self.header["record_size"]) - plain.itemsize
        return np.dtype([*plain.descr, ("bytes", "u1", (extra,))]) if extra else plain

    def chunks(self, n: int = CHUNK_RECORDS) -> Iterator[Records]:
        """Give the records in order, n at a time."""
        with self.path.open("rb") as file:
            file.seek(FILE_HEADER.itemsize)
            left = self.n_records
            while left > 0:
                records = np.fromfile(file, self.dtype, min(n, left))
                if len(records) == 0:
                    return
                left -= len(records)
                yield records


def open_raw(path: Path, kind: RecordKind) -> RawFile:
    """Check a record file's header; InputError names the file and what is wrong with it."""
    try:
        header = np.fromfile(path, FILE_HEADER, 1)
        size_bytes = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; is the trial whole?") from None
    if len(header) == 0:
        raise InputError(f"{path}: {size_bytes} bytes are no header; the file is damaged")
    return _checked(path, kind, header[0], size_bytes)


def _checked(path: Path, kind: RecordKind, header: np.void, size_bytes: int) -> RawFile:
    wanted_size = RECORDS[kind].itemsize
    record_size = int(header["record_size"])
    if header["magic"] != MAGIC.rstrip(b"\0"):
        raise InputError(f"{path}: no record file of taut (magic {bytes(header['magic'])!r})")
    if header["version"] != VERSION:
        raise InputError(
            f"{path}: record version {header['version']}, this taut reads {VERSION};"
            " convert it with the taut that wrote it"
        )
    # Bytes of the frame follow a frame record, as many as 16 bits can say.
    most = wanted_size + (0xFFFF if kind is RecordKind.FRAME else 0)
    fits = wanted_size <= record_size <= most
    if header["kind"] != kind or not fits:
        raise InputError(
            f"{path}: kind {header['kind']} of {record_size} bytes,"
            f" wanted {kind.value} ({kind.name.lower()}) of {wanted_size}; the file is misplaced"
        )
    in_file = (size_bytes - FILE_HEADER.itemsize) // record_size
    said = int(header["n_records"])
    if said > in_file:
        raise InputError(f"{path}: {in_file} records of {said}; the file is cut short")
    # No records by the header, but some behind it: the writer died before it could say.
    return RawFile(path, header, kind, said or in_file)
