"""What checks of kernel events share."""

from collections import Counter
from collections.abc import Sequence

from taut.host.host import Host
from taut.host.situation import TraceEvent
from taut.host.view import View

FOLDERS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

_NAMED = 3


def tracefs(host: Host) -> str | None:
    """Give the folder of tracefs; None where it is not mounted or not readable."""
    return next((folder for folder in FOLDERS if host.names(f"{folder}/events")), None)


def need_events(see: View, events: tuple[str, ...], since: str) -> Sequence[TraceEvent]:
    """Give the recorded events; CannotJudge: none of them was, or could be, recorded."""
    folder = tracefs(see.host)
    if folder is not None and not any(see.is_there(f"{folder}/events/{name}") for name in events):
        needs = f"a kernel that has it ({since})"
        see.cannot_tell(f"this kernel has no event {events[0]}", needs, "")
    if see.situation.events is None:
        needs = "--trace, as root, with tracefs mounted"
        see.cannot_tell("no kernel event was recorded", needs, "")
    return see.situation.events


def most_common(count: Counter[str]) -> str:
    """Name the most frequent: "a (12 times), b (3 times) and 2 more"."""
    shown = ", ".join(f"{name} ({times} times)" for name, times in count.most_common(_NAMED))
    return f"{shown} and {len(count) - _NAMED} more" if len(count) > _NAMED else shown
