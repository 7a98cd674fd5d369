"""What the counters of trace.json say: how far they moved, and whether the events agree."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from taut.explain.causes import CAUSES
from taut.explain.read.counted import agrees, is_whole, n_recorded
from taut.explain.read.events import Events, TraceNotes
from taut.records.documents.trace import CountersRead, PerCore, ThreadCounters


@dataclass(frozen=True)
class Counted:
    """Events of one kind over the whole trace, and what their counter says."""

    recorded: int
    counted: int

    @property
    def agrees(self) -> bool:
        """Whether counter and events are the same number, or nearly (counted.agrees)."""
        return agrees(self.recorded, self.counted)


@dataclass(frozen=True)
class Facts:
    """What is known of one thread's core over the whole trace."""

    counted: Mapping[str, Counted] = field(default_factory=dict)  # by cause; absent: unknown
    throttled_ns: tuple[int, ...] = ()
    """For how many ns each control group of the thread was throttled; empty: not read."""
    steal: int | None = None  # jiffies; None: not read
    smi: int | None = None
    is_guest: bool | None = None
    is_traced: bool = True
    lacks: tuple[str, ...] = ()  # events without which an empty gap proves nothing
    is_partial: bool = False  # only slow packets were recorded
    hides_calls: bool = False  # it makes system calls, and they were not recorded

    @property
    def agreeing(self) -> frozenset[str]:
        """Ids of the causes whose counter agrees in number with their recorded events."""
        return frozenset(cause for cause, found in self.counted.items() if found.agrees)


def together(each: Iterable[Facts]) -> Facts:
    """Take the facts of threads that share a core: those of the first, but for counters.

    A counter counts that agrees for every thread; where one does not, or is not known, none does.
    """
    first, *others = each
    return replace(
        first,
        counted={
            cause: found
            for cause, found in first.counted.items()
            if all(cause in other.agreeing for other in others)
        },
    )


# Without these events an interrupt or a switch is not seen, and its gap looks empty.
_ESSENTIAL = ("irq/irq_handler_entry", "irq_vectors/local_timer_entry", "sched/sched_switch")
# arch/x86/kernel/cpu/mshyperv.c: neither its timer nor what its devices call has a tracepoint.
_HYPERV_TIMER = "interrupts:HVS"
_HYPERV_LACKS = "events of Hyper-V's interrupts (HVS, HYP in /proc/interrupts): it has none"


def facts_of(
    events: Events,
    notes: TraceNotes,
    core: int,
    thread: int | None,
    is_guest: bool | None,
    is_traced: bool,
) -> Facts:
    """Compare the counters before and after, and both with the events between."""
    recorded = recorded_of(events, core, thread, notes) if is_whole(events) else {}
    return facts_from(recorded, notes, core, thread, is_guest, is_traced)


def recorded_of(events: Events, core: int, thread: int | None, notes: TraceNotes) -> dict[str, int]:
    """Count the events that a counter counts, too, by the cause they are of."""
    counts = {cause.id: n_recorded(events, cause.counter, core, thread, notes) for cause in CAUSES}
    return {cause: n for cause, n in counts.items() if n is not None}


def facts_from(
    recorded: Mapping[str, int],
    notes: TraceNotes,
    core: int,
    thread: int | None,
    is_guest: bool | None,
    is_traced: bool,
) -> Facts:
    """Do so by the number of events of each cause (recorded_of); empty: not all were kept."""
    moved = _moved(notes, core, thread)
    counted = {}
    for cause in CAUSES:
        by = moved.by(cause.counter) if cause.id in recorded else None
        if by is not None:
            counted[cause.id] = Counted(recorded[cause.id], by)
    lacks = tuple(e for e in _ESSENTIAL if any(e == missing for missing, _ in notes.missing))
    if moved.by(_HYPERV_TIMER):
        lacks = (*lacks, _HYPERV_LACKS)
    return Facts(
        counted,
        throttled_ns(notes, thread),
        moved.steal,
        moved.smi,
        is_guest,
        is_traced,
        lacks,
        notes.is_partial,
    )


def throttled_ns(notes: TraceNotes, thread: int | None) -> tuple[int, ...]:
    """Give the ns for which each control group of a thread was throttled; empty: not read."""
    return _moved(notes, -1, thread).throttled_ns()


def groups_gone(notes: TraceNotes) -> tuple[str, ...]:
    """Name the control groups that were there before the trace and are not at its end."""
    read = (notes.counters.after or CountersRead()).threads.values()
    groups = [thread.cgroups.items() for thread in read if thread is not None]
    return tuple(sorted({name for of_one in groups for name, counted in of_one if counted is None}))


def _moved(notes: TraceNotes, core: int, thread: int | None) -> "_Moved":
    read = notes.counters
    return _Moved(read.before or CountersRead(), read.after or CountersRead(), core, thread)


_ROWS: Mapping[str, Callable[[CountersRead], Mapping[str, PerCore] | None]] = {
    "interrupts": lambda read: read.interrupts,
    "softirqs": lambda read: read.softirqs,
}


@dataclass(frozen=True)
class _Moved:
    before: CountersRead
    after: CountersRead
    core: int
    thread: int | None

    @property
    def steal(self) -> int | None:
        return self._of_core(self.before.steal_jiffies, self.after.steal_jiffies)

    @property
    def smi(self) -> int | None:
        return self._of_core(self.before.smi, self.after.smi)

    def by(self, counter: str) -> int | None:
        """How far a cause's counter moved; None: it was not read."""
        group, _, row = counter.partition(":")
        if group in _ROWS:
            was, now = _ROWS[group](self.before) or {}, _ROWS[group](self.after) or {}
            return _sum(
                self._of_core(counted, now.get(name))
                for name, counted in was.items()
                if name == row or row == "any" or (row == "devices" and name.isdigit())
            )
        before, after = self._thread(self.before).counts, self._thread(self.after).counts
        # A fault that had to wait for the disk is counted apart, and is one all the same.
        rows = (row, "majflt") if row == "minflt" else (row,)
        return _sum(_difference(before.get(name), after.get(name)) for name in rows)

    def throttled_ns(self) -> tuple[int, ...]:
        """By the thread's control groups."""
        was, now = self._thread(self.before).cgroups, self._thread(self.after).cgroups
        found = [
            _difference(group.throttled_us, then.throttled_us)
            for name, group in was.items()
            if group is not None and (then := now.get(name)) is not None
        ]
        return tuple(1_000 * us for us in found if us is not None)

    def _of_core(self, before: PerCore | None, after: PerCore | None) -> int | None:
        core = str(self.core)
        return _difference((before or {}).get(core), (after or {}).get(core))

    def _thread(self, when: CountersRead) -> ThreadCounters:
        return when.threads.get(str(self.thread)) or ThreadCounters()


def _sum(moves: Iterable[int | None]) -> int | None:
    known = [move for move in moves if move is not None]
    return sum(known) if known else None


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
