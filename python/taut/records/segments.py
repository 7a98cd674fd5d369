"""The segments of a soak on the disk: written while it measures, read whatever became of it.

RUN/soak/TRIAL/segment.json, rows.jsonl (one line a row) and whole.npz, the latencies of all rows
so far, which is replaced with each row: so the disk it takes does not grow but for the lines.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from taut.core.errors import InputError
from taut.core.files import whole, write_json
from taut.records.documents.json_form import parse, plain_object, read_document
from taut.records.documents.soak import (
    ROWS_FILE,
    SEGMENT_FILE,
    SHARES,
    SOAK_FOLDER,
    WHOLE_FILE,
    Ended,
    Latency,
    Row,
    Segment,
    SegmentStart,
)
from taut.records.documents.trial import TRIAL_FILE, TrialDocument
from taut.records.live import Buckets, Fresh
from taut.records.tables import TRIALS

NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Latencies:
    """Packets by latency, in ns, latencies in order."""

    ns: npt.NDArray[np.float64]
    count: npt.NDArray[np.uint64]
    last_ns: npt.NDArray[np.float64]
    """The greatest latency that each of `ns`, the least of its bucket, may stand for."""

    def figures(self) -> Latency:
        """Give percentiles and the maximum."""
        cumulated = np.cumsum(self.count)
        total = int(cumulated[-1]) if cumulated.size else 0
        if not total:
            return Latency(0, dict.fromkeys(SHARES), None)
        at = {name: np.searchsorted(cumulated, share * total) for name, share in SHARES.items()}
        found = {name: round(float(self.ns[i])) for name, i in at.items()}
        return Latency(total, found, round(float(self.ns[-1])))

    def above(self, limit_ns: float, *, is_strict: bool = False) -> int:
        """Count packets slower than a limit (as slow, too, if `is_strict`).

        A bucket that only partly lies above counts as above, as in late.py.
        """
        is_above = self.last_ns >= limit_ns if is_strict else self.last_ns > limit_ns
        return int(self.count[is_above].sum())

    @property
    def sum_ns(self) -> float:
        """Add up all latencies: too little by less than 0.01 %, the width of a bucket."""
        return float(self.ns @ self.count)


def latencies_of(found: Fresh, buckets: Buckets) -> Latencies:
    """Turn buckets into latencies."""
    return Latencies(buckets.bounds_ns(found.index), found.count, buckets.last_ns(found.index))


def merged(parts: list[Latencies]) -> Latencies:
    """Add up packets of several segments."""
    ns = np.concatenate([part.ns for part in parts] or [np.empty(0)])
    count = np.concatenate([part.count for part in parts] or [np.empty(0, np.uint64)])
    last = np.concatenate([part.last_ns for part in parts] or [np.empty(0)])
    order = np.argsort(ns, kind="stable")
    return Latencies(ns[order], count[order], last[order])


class SegmentWriter:
    """Keeps the rows of a segment under way; a row that was added is on the disk."""

    def __init__(self, folder: Path, start: SegmentStart) -> None:
        # One without its file was left by a taut that was killed between the two, or had no room.
        folder.mkdir(parents=True, exist_ok=not (folder / SEGMENT_FILE).exists())
        write_json(folder / SEGMENT_FILE, plain_object(start))
        self._folder = folder
        self._rows = (folder / ROWS_FILE).open("w", encoding="utf-8")

    def add(self, row: Row, on_time: Fresh, void: Fresh) -> None:
        """Add a row, and all latencies up to its end."""
        self._rows.write(json.dumps(plain_object(row)) + "\n")
        self._rows.flush()
        os.fsync(self._rows.fileno())
        with whole(self._folder / WHOLE_FILE) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                n_rows=np.array([row.n + 1]),
                index=on_time.index.astype(np.uint32),
                count=on_time.count,
                void_index=void.index.astype(np.uint32),
                void_count=void.count,
            )
            # As the rows are: a power loss leaves the old file or this one, never an empty one.
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        self._rows.close()


@dataclass(frozen=True)
class Kept:
    """A segment as it was found, with the latencies of its rows."""

    segment: Segment
    on_time: Latencies
    void: Latencies

    @property
    def all(self) -> Latencies:
        """Those on time and those the generator held up, together."""
        return merged([self.on_time, self.void])


def read_segments(run: Path) -> list[Kept]:
    """Read every segment of a run in the order they ran; none where it is no soak."""
    folders = sorted(path for path in (run / SOAK_FOLDER).glob("*") if path.is_dir())
    return [_read(folder, run) for folder in folders if (folder / SEGMENT_FILE).is_file()]


def _read(folder: Path, run: Path) -> Kept:
    start = read_document(SegmentStart, folder / SEGMENT_FILE)
    rows = list(_rows(folder / ROWS_FILE))
    n_rows, on_time, void = _whole(folder / WHOLE_FILE)
    # A row was written whose latencies were not: it was under way when it was killed.
    rows = rows[:n_rows]
    ended, why = _end(run / TRIALS / start.trial / TRIAL_FILE)
    buckets = Buckets(0, start.exact_bits, start.sub_bits, start.tsc_hz)
    return Kept(
        Segment(start, ended, why, tuple(rows)),
        latencies_of(on_time, buckets),
        latencies_of(void, buckets),
    )


def _end(path: Path) -> tuple[Ended, str | None]:
    if not path.is_file():
        return "killed", None
    document = read_document(TrialDocument, path)
    if not document.is_whole:
        return "failed", document.failure.reason if document.failure else None
    return "whole", None


def _rows(path: Path) -> Iterator[Row]:
    """Read rows up to the first that is not whole: it was being written."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            yield parse(Row, json.loads(line), "row")
        except ValueError:
            return
        except InputError as error:
            raise InputError(f"{path}: {error}; it is of another version, or damaged") from None


def _whole(path: Path) -> tuple[int, Fresh, Fresh]:
    none = Fresh(NONE, NONE.astype(np.uint64))
    if not path.is_file():
        return 0, none, none
    try:
        with np.load(path) as found:
            return (
                int(found["n_rows"][0]),
                Fresh(found["index"].astype(np.int64), found["count"]),
                Fresh(found["void_index"].astype(np.int64), found["void_count"]),
            )
    except (BadZipFile, KeyError, ValueError, EOFError):
        raise InputError(f"{path}: damaged; move the folder away to read the rest") from None
