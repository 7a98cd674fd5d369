"""What checks of kernel events share."""

from collections import Counter
from collections.abc import Sequence

from taut.host.check import Finding, unknown
from taut.host.host import Host
from taut.host.situation import Situation, TraceEvent
from taut.host.view import CannotJudge, View

FOLDERS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")


def tracefs(host: Host) -> str | None:
    """Give the folder of tracefs; None where it is not mounted or not readable."""
    return next((folder for folder in FOLDERS if host.names(f"{folder}/events")), None)


def unseen(host: Host, situation: Situation, events: tuple[str, ...], since: str) -> Finding | None:
    """Say why none of these events can be judged; None: at least one was recorded or could be."""
    folder = tracefs(host)
    if folder is not None and not any(host.is_there(f"{folder}/events/{name}") for name in events):
        return unknown(f"this kernel has no event {events[0]}", f"a kernel that has it ({since})")
    if situation.events is None:
        return unknown("no kernel event was recorded", "--trace, as root, with tracefs mounted")
    return None


def need_events(see: View, events: tuple[str, ...], since: str) -> Sequence[TraceEvent]:
    """Give what was recorded; CannotJudge: none of these events was, or could be."""
    if (finding := unseen(see.host, see.situation, events, since)) is not None:
        raise CannotJudge(finding)
    return see.situation.events or ()


def most_common(count: Counter[str], most: int = 3) -> str:
    """Name the most frequent: "a (12 times), b (3 times) and 2 more"."""
    shown = ", ".join(f"{name} ({times} times)" for name, times in count.most_common(most))
    return f"{shown} and {len(count) - most} more" if len(count) > most else shown
