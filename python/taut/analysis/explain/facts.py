"""What the counters of trace.json say beside the events: what moved, what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taut.analysis.causes import CAUSES
from taut.analysis.explain.events import TraceNotes


@dataclass(frozen=True)
class Facts:
    """What is known of one thread's core over the whole trace."""

    agreeing: frozenset[str] = frozenset()  # causes whose counter moved
    steal: int | None = None  # jiffies; None: not read
    smi: int | None = None
    is_guest: bool | None = None
    is_traced: bool = True
    lacks: tuple[str, ...] = ()  # events without which an empty gap proves nothing


# Without these an interrupt or a switch would go unseen, and the gap would look empty.
_ESSENTIAL = ("irq/irq_handler_entry", "irq_vectors/local_timer_entry", "sched/sched_switch")


def facts_of(
    notes: TraceNotes, core: int, thread: int | None, is_guest: bool | None, is_traced: bool
) -> Facts:
    """Compare the counters before and after."""
    before, after = (notes.counters.get(when) or {} for when in ("before", "after"))
    moved = _Moved(before, after, core, thread)
    agreeing = frozenset(c.id for c in CAUSES if c.counter and moved.by(c.counter))
    lacks = tuple(e for e in _ESSENTIAL if any(e == missing for missing, _ in notes.missing))
    return Facts(
        agreeing,
        moved.of("steal_jiffies"),
        moved.of("smi"),
        is_guest,
        is_traced,
        lacks,
    )


@dataclass(frozen=True)
class _Moved:
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    core: int
    thread: int | None

    def of(self, name: str) -> int | None:
        """How far a counter of each core moved."""
        return _difference(self.before.get(name), self.after.get(name), str(self.core))

    def by(self, counter: str) -> bool:
        """Whether a cause's counter moved."""
        group, _, row = counter.partition(":")
        if group in ("interrupts", "softirqs"):
            return any(
                (_difference(was, (self.after.get(group) or {}).get(name), str(self.core)) or 0) > 0
                for name, was in (self.before.get(group) or {}).items()
                if name == row or row == "any" or (row == "devices" and name.isdigit())
            )
        if group in ("threads", "cgroups"):
            was, now = self._thread(self.before), self._thread(self.after)
            if group == "threads":
                return (_difference(was, now, row) or 0) > 0
            return any(
                (_difference(limits, (now.get("cgroups") or {}).get(name), row) or 0) > 0
                for name, limits in (was.get("cgroups") or {}).items()
            )
        return (self.of(group) or 0) > 0

    def _thread(self, when: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (when.get("threads") or {}).get(str(self.thread)) or {}
        return found


def _difference(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, name: str
) -> int | None:
    was, now = (before or {}).get(name), (after or {}).get(name)
    return int(now) - int(was) if was is not None and now is not None else None
