"""Why a trial cannot be explained, and what to know where it can only in part."""

from pathlib import Path

from taut.explain.read.counted import is_whole
from taut.explain.read.events import Events
from taut.explain.read.packets import Normal
from taut.records.documents.trial import FAILED, Failure, TrialDocument
from taut.records.tables import HISTOGRAM, PACKETS

ONLY_SLOW = "tail"
"""What traffic.record is where slow packets alone were recorded."""
LEFT_OUT = f"{PACKETS} is not there; `taut pack --without-records` leaves it out"
"""Why packets are not known that were recorded."""


def why_not(trial: Path, document: TrialDocument) -> str | None:
    """Say why nothing can be told of a trial's late packets; None: it can be tried."""
    if document.status == FAILED:
        return f"the trial failed ({(document.failure or Failure()).reason})"
    if document.traffic.record == ONLY_SLOW and not (trial / HISTOGRAM).is_file():
        return (
            "only its slow packets were recorded, and what is usual is not known; "
            "run it with record = 'all'"
        )
    if is_left_out(trial / PACKETS, document):
        return LEFT_OUT
    # A trial without records has a table of them, too, an empty one.
    if document.traffic.record == "none" or not (trial / PACKETS).is_file():
        return "no packets were recorded; run it with record = 'all'"
    return None


def is_left_out(packets: Path, document: TrialDocument) -> bool:
    """Whether packets were recorded, all or slow ones, and their table is not there."""
    return document.traffic.record in ("all", ONLY_SLOW) and not packets.is_file()


def conditions(normal: Normal, n_tail: int, events: Events) -> list[str]:
    """Say under which conditions a trial was explained, where they are not the usual ones."""
    words = []
    if normal.is_partial:
        words.append(
            "only slow packets were recorded: those between them, which might speak against a "
            "cause, are not known, so that every verdict is a guess (maybe); `taut run` with "
            "record = 'all' knows them, for as long as there is room"
        )
    if n_tail < normal.n_beside(n_tail):
        words.append(
            f"of {normal.n_above:,} packets above {normal.over} only {n_tail:,} were recorded: "
            "causes and shares are of those"
        )
    if normal.is_overloaded:
        due = normal.n_packets + normal.n_gone
        words.append(
            f"overload: {normal.n_gone:,} of {due:,} packets were lost or refused, and the median "
            "packet waited in a queue; lateness counts from nothing, and what no stall covers by "
            "half is queueing"
        )
    if not is_whole(events):
        words.append(
            "tail trace: only events around late packets were kept, so that no counter can agree "
            "in number; a verdict is of grade A only where its sender is proved"
        )
    return words
