"""A recipe in the report: RUN/rfc.json, read, and in words; the tables are in rfc_tables.py.

The terminal and the page print the same ones.
"""

from collections.abc import Sequence
from pathlib import Path

from taut.analysis.load import frame_words
from taut.core.percentiles import PERCENTILES, percentile_rank
from taut.records.documents.rfc import RFC_FILE, RfcDocument, RfcOfDevice
from taut.report.rfc_tables import TABLES, Table, reset_words
from taut.report.search import GO_ON, found_words, goal_words, stopped_floors, unmet_words
from taut.report.written import read_written


def read_rfc(run: Path) -> RfcDocument | None:
    """Read the recipe of a run; None: it is none's. InputError: one of a taut unlike this one."""
    return read_written(RfcDocument, run / RFC_FILE, "recipe")


def title(document: RfcDocument) -> str:
    return f"RFC {document.rfc}"


def shortened_words(document: RfcDocument) -> str:
    """Say what differs from the RFC's own form; empty: nothing."""
    if not document.shortened:
        return ""
    return f"Not as RFC {document.rfc} has it: {'; '.join(document.shortened)}."


def headline(document: RfcDocument) -> str:
    """Say in one sentence what was found of every device."""
    parts = [
        f"{of}: " + ", ".join(_found_of(row) for row in rows)
        for of, rows in by_device(document).items()
    ]
    return f"RFC {document.rfc}, throughput of {'; '.join(parts)}."


def _found_of(row: RfcOfDevice) -> str:
    return f"{found_words(row.throughput.found[0])} of {frame_words(row.frame)}"


def by_device(document: RfcDocument) -> dict[str, list[RfcOfDevice]]:
    """Give the rows of each device, one a frame size, under its name and path."""
    ways = ", both directions" if document.recipe.both else ""
    found: dict[str, list[RfcOfDevice]] = {}
    for row in document.results:
        found.setdefault(f"{row.device} over {row.link}{ways}", []).append(row)
    return found


def tables_of(document: RfcDocument, rows: Sequence[RfcOfDevice]) -> list[Table]:
    """Give the tables of one device."""
    made = [make(document, rows) for make in TABLES]
    return [table for table in made if table.rows]


def statements_of(rows: Sequence[RfcOfDevice]) -> list[str]:
    """Say what stands in no table: resets, and what was not run."""
    said = [reset_words(row) for row in rows if row.reset is not None]
    for row in rows:
        frame = frame_words(row.frame)
        said += [f"{frame}: no {why}." for why in row.not_run]
        said += [f"{frame}: {why}. Shown is what there was until then." for why in row.failed]
    return said


def cautions(document: RfcDocument) -> list[str]:
    """Say what the numbers of these RFCs are known not to tell."""
    said = [_SEARCHES, _MEDIUM]
    if any(row.latency is not None for row in document.results):
        said.append(_TAG if document.recipe.tags == 1 else _tags_words(document.recipe.tags))
    return said


def _tags_words(n: int) -> str:
    n_above = n - percentile_rank(n, PERCENTILES["p99.9"])
    tail = f"has {n_above:,} above it" if n_above else "is the maximum"
    return (
        f"Of {n:,} tags the 99.9th percentile {tail}, and they meet a tail of one packet in a "
        "thousand only by chance. Percentiles of all packets are in a table of their own."
    )


def foot(document: RfcDocument) -> str:
    """Say how throughput was searched."""
    return f"{goal_words(document.goal)}. By {document.method}."


def shown_trials(document: RfcDocument | None) -> set[str]:
    """Name the trials whose loads the report shows by themselves: those of latency."""
    rows = () if document is None else document.results
    return {one.trial for row in rows if row.latency is not None for one in row.latency.trials}


def problems(document: RfcDocument) -> list[str]:
    """Say of each loopback and device what has no answer at all; what was measured stays."""
    said = stopped_floors(document.instruments)
    for row in document.results:
        of = f"{row.device}, {row.frame} B"
        unmet = unmet_words(row.throughput.found[0], row.throughput.min_pps)
        if row.throughput.stopped is not None:
            said.append(f"{of}: {row.throughput.stopped}; {GO_ON}")
        elif unmet is not None:
            said.append(f"{of}: throughput: {unmet}")
        said += [f"{of}: {why}" for why in row.failed]
    return said


_SEARCHES = (
    "One trial decides a load, and nothing lost is a matter of luck on a machine that does other "
    "things besides: another search may end elsewhere, and a longer trial may lose what this one "
    "did not. RFC 9971 says why; `taut search` repeats."
)
_MEDIUM = (
    "A virtual link has no rate of its own. What stands here for the maximum of the medium is "
    "what the same generator carries over the same link with no device between, or the --max "
    "that was given; where there is neither it is not known, and what starts from it is not run."
)
_TAG = (
    "One packet of each trial is the RFC's latency, the average of them its result: it says "
    "nothing of the tail. Percentiles of all packets are in a table of their own."
)
