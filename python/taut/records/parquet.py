"""Parquet files of a run, read: one that is not there, or damaged, is InputError with its path."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.errors import InputError
from taut.records.tables import EVENTS, GAPS, HEADS, HISTOGRAM, PACKETS, STAMPS

_RECORDED = {PACKETS, GAPS, HISTOGRAM, STAMPS, EVENTS, HEADS}
"""What no analysis of the run makes again."""


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    filters: Sequence[tuple[str, str, object]] | None = None,
    schema: pa.Schema | None = None,
) -> pa.Table:
    """Read a file, or these of its columns, or the rows that all `filters` let through."""
    chosen = None if filters is None else list(filters)
    wanted = None if columns is None else list(columns)
    with _told(path):
        # Folders above it whose names have a `=` are no partitions.
        return pq.read_table(path, columns=wanted, filters=chosen, schema=schema, partitioning=None)


def read_metadata(path: Path) -> pq.FileMetaData:
    """Read how many rows there are, in what groups, and between which bounds."""
    with _told(path):
        return pq.read_metadata(path)


@contextmanager
def opened(path: Path, **options: object) -> Iterator[pq.ParquetFile]:
    """Open a file to be read in parts, in the block."""
    with _told(path), pq.ParquetFile(path, **options) as file:
        yield file


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: not there; {_remedy(path)}") from None
    except (pa.ArrowException, OSError) as error:
        # What the machine refuses has a number; bytes that do not fit together have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = " ".join(str(error).split())
        raise InputError(f"{path}: damaged ({said}); {_remedy(path)}") from None


def _remedy(path: Path) -> str:
    if path.name in _RECORDED:
        return "copy the run again, measure anew, or analyse the captures again"
    return "copy the run again, or analyse it anew: `taut report RUN --again`"
