"""What a row of a soak says of a requirement."""

from taut.core.requirement import Requirement
from taut.records.documents.soak import Row


def failing(one: Requirement, row: Row, *, own: bool) -> int | None:
    """Count packets of a row that fail a requirement; None: rows do not say.

    `own`: without those that the generator held up.
    """
    above = row.above_on_time if own else row.above
    lost = row.counters["lost"] - (row.counters["lost_void"] if own else 0)
    match one.what:
        case "p" | "max":
            return above[str(round(one.limit))]
        case "loss":
            return lost
        case "within":
            return lost + above[str(one.deadline_ns)]
        case _:
            return None
