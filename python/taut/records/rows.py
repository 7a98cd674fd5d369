"""Rows of a soak: where each lies in the whole, and what it says of a requirement."""

from collections.abc import Iterator, Sequence

from taut.core.requirement import Requirement
from taut.records.documents.soak import Row, Segment

_SAID = ("p", "max", "loss", "within")


def rows_say(one: Requirement) -> bool:
    """Whether rows count the packets that fail a requirement."""
    return one.what in _SAID


def failing(one: Requirement, row: Row, *, own: bool) -> int | None:
    """Count packets of a row that fail a requirement; None: rows do not say, or not of its limit.

    `own`: without those that the generator held up.
    """
    above = row.above_on_time if own else row.above
    lost = row.counters["lost"] - (row.counters["lost_void"] if own else 0)
    match one.what:
        case "p" | "max":
            return above.get(str(round(one.limit)))
        case "loss":
            return lost
        case "within":
            late = above.get(str(one.deadline_ns))
            return None if late is None else lost + late
        case _:
            return None


def refused(row: Row) -> int:
    """Count what the link refused although the generator was on time with it.

    Counters and latencies of a row are read one after the other: by what is counted between, it is
    wrong, and that of the next row as much the other way. It may be below 0; of all rows it is not.
    """
    n_back = row.latency.n - row.on_time.n
    of = row.counters
    return of["unsent"] - (of["void"] - n_back - of["lost_void"])


def elapsed(segments: Sequence[Segment]) -> Iterator[tuple[int, Row]]:
    """Give each row with the measured time of the whole soak before its segment."""
    before_ns = 0
    for segment in segments:
        for row in segment.rows:
            yield before_ns, row
        before_ns += segment.measured_ns
