"""What the counters of trace.json say beside the events: how far they moved, and what agrees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from taut.explain.causes import CAUSES
from taut.explain.read.counted import agrees, is_whole, n_recorded
from taut.explain.read.events import Events, TraceNotes


@dataclass(frozen=True)
class Counted:
    """Events of one kind over the whole trace, and what their counter says."""

    recorded: int
    counted: int

    @property
    def agrees(self) -> bool:
        """Whether both are the same number, or nearly."""
        return agrees(self.recorded, self.counted)


@dataclass(frozen=True)
class Facts:
    """What is known of one thread's core over the whole trace."""

    counted: Mapping[str, Counted] = field(default_factory=dict)  # by cause; absent: not known
    throttled_ns: tuple[int, ...] = ()
    """How long each control group of the thread was throttled; empty: not read."""
    steal: int | None = None  # jiffies; None: not read
    smi: int | None = None
    is_guest: bool | None = None
    is_traced: bool = True
    lacks: tuple[str, ...] = ()  # events without which an empty gap proves nothing

    @property
    def agreeing(self) -> frozenset[str]:
        """Causes whose counter agrees in number with what was recorded of them."""
        return frozenset(cause for cause, found in self.counted.items() if found.agrees)


# Without these an interrupt or a switch would go unseen, and the gap would look empty.
_ESSENTIAL = ("irq/irq_handler_entry", "irq_vectors/local_timer_entry", "sched/sched_switch")


def facts_of(
    events: Events,
    notes: TraceNotes,
    core: int,
    thread: int | None,
    is_guest: bool | None,
    is_traced: bool,
) -> Facts:
    """Compare the counters before and after, and both with the events between."""
    moved = _moved(notes, core, thread)
    counted = {}
    for cause in CAUSES if is_whole(events) else ():
        recorded = n_recorded(events, cause.counter, core, thread, notes)
        by = None if recorded is None else moved.by(cause.counter)
        if recorded is not None and by is not None:
            counted[cause.id] = Counted(recorded, by)
    lacks = tuple(e for e in _ESSENTIAL if any(e == missing for missing, _ in notes.missing))
    return Facts(
        counted,
        throttled_ns(notes, thread),
        moved.of("steal_jiffies"),
        moved.of("smi"),
        is_guest,
        is_traced,
        lacks,
    )


def throttled_ns(notes: TraceNotes, thread: int | None) -> tuple[int, ...]:
    """How long each control group of a thread was throttled during the trace; empty: not read."""
    return _moved(notes, -1, thread).throttled_ns()


def _moved(notes: TraceNotes, core: int, thread: int | None) -> "_Moved":
    before, after = (notes.counters.get(when) or {} for when in ("before", "after"))
    return _Moved(before, after, core, thread)


@dataclass(frozen=True)
class _Moved:
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    core: int
    thread: int | None

    def of(self, name: str) -> int | None:
        """How far a counter of each core moved."""
        return _difference(self.before.get(name), self.after.get(name), str(self.core))

    def by(self, counter: str) -> int | None:
        """How far a cause's counter moved; None: it was not read."""
        group, _, row = counter.partition(":")
        if group in ("interrupts", "softirqs"):
            return _sum(
                _difference(was, (self.after.get(group) or {}).get(name), str(self.core))
                for name, was in (self.before.get(group) or {}).items()
                if name == row or row == "any" or (row == "devices" and name.isdigit())
            )
        was, now = self._thread(self.before), self._thread(self.after)
        # A fault that had to wait for the disk is counted apart, and is one all the same.
        rows = (row, "majflt") if row == "minflt" else (row,)
        return _sum(_difference(was, now, name) for name in rows)

    def throttled_ns(self) -> tuple[int, ...]:
        """By the thread's control groups."""
        was, now = self._thread(self.before), self._thread(self.after)
        found = [
            _difference(limits, (now.get("cgroups") or {}).get(name), "throttled_us")
            for name, limits in (was.get("cgroups") or {}).items()
        ]
        return tuple(1_000 * us for us in found if us is not None)

    def _thread(self, when: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (when.get("threads") or {}).get(str(self.thread)) or {}
        return found


def _sum(moves: Iterable[int | None]) -> int | None:
    known = [move for move in moves if move is not None]
    return sum(known) if known else None


def _difference(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, name: str
) -> int | None:
    was, now = (before or {}).get(name), (after or {}).get(name)
    return int(now) - int(was) if was is not None and now is not None else None
