"""`--timings`: where the time of a command went, as a table or as a key of its document."""

from typing import TYPE_CHECKING

from taut.core.timings import timings_so_far
from taut.records.documents.json_form import Json

if TYPE_CHECKING:  # Rich is half of what a help would load.
    from rich.console import Console


def print_timings(console: "Console") -> None:
    """Print every stage with its seconds, and their sum; nothing if nobody asked."""
    stages = timings_so_far()
    if stages is None:
        return
    from taut.report.columns import numbers, print_columns, words

    rows = [(one.stage, one.seconds) for one in stages]
    rows.append(("together", sum(one.seconds for one in stages)))
    console.print()
    print_columns(
        console,
        [words("stage"), numbers("seconds")],
        [[name, f"{seconds:.2f}"] for name, seconds in rows],
    )


def timings_key() -> dict[str, Json]:
    """Give the key to add to a document; none if nobody asked."""
    stages = timings_so_far()
    if stages is None:
        return {}
    return {"timings": [{"stage": one.stage, "seconds": round(one.seconds, 4)} for one in stages]}
