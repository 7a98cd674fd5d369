"""The exclusive timeline of one core: for every moment inside a span, who had the core.

Contexts nest: a non-maskable interrupt over a function call over an interrupt over a softirq over
another task over a page fault or system call over the thread's own time.  The innermost owns the
time.  A span is a gap of a polling thread: where it begins and ends the thread was in its own
loop, so each span starts with nothing nested, and what lost events broke does not last beyond it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taut.explain import causes
from taut.explain.arrays import Ints
from taut.explain.cause import Away, Cause
from taut.explain.causes import OF_CALL, OF_VECTOR
from taut.explain.read.events import KIND, Events
from taut.explain.read.facts import throttled_ns
from taut.explain.read.names import Names, softirq_name, vector_name
from taut.explain.read.senders import Senders
from taut.explain.walk.running import OffCore
from taut.explain.walk.segments import CLASS_NUMBER, SegmentLists, Segments

# Depth of a context; a new one ends all contexts of its own level and above: their end was lost.
FAULT, SYSCALL, TASK, WORK, SOFTIRQ, INTERRUPT, CALL = 10, 12, 20, 25, 30, 40, 45

_LOW = 0xFFFF_FFFF
_CHUNK = 1 << 17
_MOST_NAMES = 3
ABOUT_OTHERS = (
    "frequency",
    "call_queue",
    "ipi_send",
    "ipi_send_for",
    "wakeup",
    "lost",
    "skipped",
    "tlb_flush",
)
"""Events whose thread does not say who has the core: noted elsewhere, by nobody, or (tlb_flush) by
the thread that has just been switched away from."""
_NAMED_BY_VECTOR = (causes.TIMER, causes.RESCHEDULE, causes.FUNCTION_CALL, causes.IRQ_WORK)
"""The vector's name says no more than the cause."""
_ITS_OWN = ("page_fault", "syscall_entry", "syscall_exit")
"""Events that count for watched threads only; another thread's are a part of its turn."""


class _Visit:
    """One context that is open."""

    __slots__ = ("by", "cause", "detail", "entry", "id", "is_named", "joined", "level", "since")

    def __init__(self, level: int, cause: Cause, entry: str, since: int) -> None:
        self.level, self.cause, self.entry, self.since = level, cause, entry, since
        self.id, self.by, self.detail, self.is_named, self.joined = 0, -1, "", False, False


@dataclass(frozen=True)
class Watched:
    """Whose timeline: a thread on a core, or several of one device that share it."""

    core: int
    thread: int
    fault_most_ns: int | None = None
    """The longest a page fault may last, since it has no end event; None: to its span's end."""
    also: frozenset[int] = frozenset()
    """Other threads of the same device: while one of them has the core, the device has it."""
    sleeps: bool = False
    """Whether it sleeps until packets come: while asleep, nobody holds it up."""
    calls_are_work: bool = False
    """Whether its packets go through the kernel: a system call is then its own work."""

    @property
    def threads(self) -> frozenset[int]:
        return self.also | {self.thread}


class _Walk:
    """The state while events are walked; one method for each kind of event."""

    def __init__(self, watched: Watched, events: Events, names: Names, senders: Senders) -> None:
        self.out = SegmentLists()
        self._watched, self._events, self._names = watched, events, names
        self._senders = senders.of
        self._stack: list[_Visit] = []
        self._span = self._last = 0
        self._bears = False
        self._row = 0
        may_throttle = any(throttled_ns(names.notes, watched.thread))
        self._off = OffCore(names, may_throttle, watched.sleeps)
        self._threads = watched.threads
        named: dict[str, Callable[[int, int, int], None]] = {
            "irq_entry": self._irq_entry,
            "irq_exit": self._interrupt_exit,
            "vector_entry": self._vector_entry,
            "vector_exit": self._interrupt_exit,
            "softirq_entry": self._softirq_entry,
            "softirq_exit": self._softirq_exit,
            "timer_entry": self._timer_entry,
            "call_entry": self._call_entry,
            "call_exit": self._call_exit,
            "tlb_flush": self._tlb_flush,
            "switch": self._switch,
            "wakeup": self._wakeup,
            "work_entry": self._work_entry,
            "work_exit": self._work_exit,
            "page_fault": self._page_fault,
            "syscall_entry": self._syscall_entry,
            "syscall_exit": self._syscall_exit,
            "nmi": self._nmi,
            "lost": self._lost,
        }
        self._handlers = {KIND[kind]: handler for kind, handler in named.items()}
        self._foreign = {KIND[kind] for kind in ABOUT_OTHERS}
        self._own = {KIND[kind] for kind in _ITS_OWN}

    def begin(self, span: int, start_ns: int) -> None:
        """Start a span: the thread is in its own loop."""
        self._span, self._last, self._bears = span, start_ns, False
        self._off.reset()

    def end(self, end_ns: int) -> None:
        """End a span, and every context that is still open."""
        self._pop(0, end_ns)

    def event(self, row: int, t: int, kind: int, thread: int, args: tuple[int, int]) -> None:
        """Hand one event to the method of its kind; other threads' own events are passed over."""
        self._row = row
        if kind not in self._foreign:
            self._resync(t, args[0] & _LOW if kind == KIND["switch"] else thread)
        if kind in self._own and thread not in self._threads:
            return
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(t, *args)

    def _resync(self, t: int, thread: int) -> None:
        """Correct who runs, after a lost switch, by the thread that the event names."""
        if thread in self._threads:
            if self._off.is_off:
                self._pop(TASK, t)
                self._off.back()
        elif not self._off.is_off:
            self._pop(TASK, t)
            self._off.leave(0)
            self._run(t, thread, None)

    # The stack.

    def _advance(self, t: int) -> None:
        if t <= self._last:
            return
        if self._stack:
            top = self._stack[-1]
            most = self._watched.fault_most_ns
            until = t
            if top.level == FAULT and most is not None:
                until = min(t, top.since + most)
            # A thread with nothing to do is not held up.
            is_own = self._off.is_waiting or (top.level == SYSCALL and self._watched.calls_are_work)
            if until > self._last and not is_own:
                self.out.add(self._span, self._last, until, top.id)
        self._last = t

    def _push(self, level: int, cause: Cause, entry: str, t: int) -> _Visit:
        self._pop(level, t)
        is_over_own = not self._stack or self._stack[-1].level < TASK
        # Softirqs run at an interrupt's end: its entry cost is theirs, too.
        bears = is_over_own and not (level == SOFTIRQ and self._bears)
        self._bears |= bears
        visit = _Visit(level, cause, entry if bears else "none", t)
        visit.id = self.out.open(self._span)
        self._stack.append(visit)
        return visit

    def _pop(self, level: int, t: int) -> None:
        """End every context of a level and above."""
        self._advance(t)
        stack = self._stack
        while stack and stack[-1].level >= level:
            v = stack.pop()
            self.out.close(v.id, v.cause, v.entry, v.detail, v.by, v.joined)

    def _leave(self, level: int, t: int) -> None:
        """End one context, if it is open: an exit without its entry means nothing."""
        if any(visit.level == level for visit in self._stack):
            self._pop(level, t)

    def _note(self, text: str) -> None:
        """Add details to the innermost context."""
        top = self._stack[-1]
        if not top.detail:
            top.detail = text
        elif text not in top.detail and top.detail.count(" + ") < _MOST_NAMES - 1:
            top.detail += f" + {text}"

    # Interrupts.

    def _irq_entry(self, t: int, irq: int, _: int) -> None:
        self._push(INTERRUPT, causes.DEVICE_IRQ, "irq", t).detail = self._names.irq(irq)

    def _vector_entry(self, t: int, vector: int, _: int) -> None:
        name = vector_name(vector)
        entry = name if name in CLASS_NUMBER else "vector"
        visit = self._push(INTERRUPT, OF_VECTOR.get(name, causes.DEVICE_IRQ), entry, t)
        if visit.cause not in _NAMED_BY_VECTOR:
            visit.detail = name
        if visit.cause is causes.RESCHEDULE:
            self._name_sender(visit, "")

    def _interrupt_exit(self, t: int, _: int, __: int) -> None:
        self._leave(INTERRUPT, t)

    def _softirq_entry(self, t: int, number: int, _: int) -> None:
        self._push(SOFTIRQ, causes.SOFTIRQ, "softirq", t).detail = softirq_name(number)

    def _softirq_exit(self, t: int, _: int, __: int) -> None:
        self._leave(SOFTIRQ, t)

    def _timer_entry(self, t: int, function: int, _: int) -> None:
        self._advance(t)
        if self._stack and self._stack[-1].level in (SOFTIRQ, INTERRUPT):
            self._note(self._names.function(function))

    def _nmi(self, t: int, handler: int, duration_ns: int) -> None:
        # Stamped at its end; no other event can lie inside.
        start = max(t - duration_ns, self._last)
        self._advance(start)
        self._push(CALL + 1, causes.NMI, "nmi", start).detail = self._names.function(handler)
        self._pop(CALL + 1, t)

    # Function calls from other cores.

    def _call_entry(self, t: int, csd: int, function: int) -> None:
        if not csd:
            # A core's own part of a call to all cores: the running thread keeps running.
            return
        name = self._names.function(function)
        cause = OF_CALL.get(name, causes.FUNCTION_CALL)
        visit = self._push(CALL, cause, "call", t)
        if self._stack[:-1]:
            visit.entry = "none"
        self._name_sender(visit, name if cause is causes.FUNCTION_CALL else "")
        self._rename_interrupt(visit)

    def _name_sender(self, visit: _Visit, what: str) -> None:
        sender = int(self._senders[self._row])
        visit.is_named, visit.detail = True, what
        if sender < 0:
            return
        visit.by, visit.joined = int(self._events.thread[sender]), True
        who = f"by {self._names.thread(visit.by)} on cpu{int(self._events.cpu[sender])}"
        visit.detail = f"{what} {who}".strip()

    def _rename_interrupt(self, call: _Visit) -> None:
        """Give an interrupt the cause it was sent for: its own time counts with its call's."""
        below = self._stack[-2] if len(self._stack) > 1 else None
        if below is None or below.level != INTERRUPT or below.is_named:
            return
        if below.cause in (causes.FUNCTION_CALL, causes.RESCHEDULE):
            below.cause, below.detail, below.by = call.cause, call.detail, call.by
            below.joined, below.is_named = call.joined, True

    def _call_exit(self, t: int, csd: int, _: int) -> None:
        if csd:
            self._leave(CALL, t)

    def _tlb_flush(self, t: int, reason: int, pages: int) -> None:
        # Reason 1 is a remote shootdown; a flush for a task switch (0) is none. Older kernels do
        # not name the function an interrupt ran, and the flush inside it is the evidence.
        self._advance(t)
        if reason != 1 or not self._stack or self._stack[-1].level not in (INTERRUPT, CALL):
            return
        words = "all pages" if pages >= 1 << 62 else f"{pages} page{'s' if pages != 1 else ''}"
        for visit in self._stack:
            if visit.level in (INTERRUPT, CALL) and visit.cause in (
                causes.FUNCTION_CALL,
                causes.TLB_SHOOTDOWN,
            ):
                visit.cause, visit.is_named = causes.TLB_SHOOTDOWN, True
                if not visit.detail.startswith(words):
                    visit.detail = f"{words} {visit.detail}".strip()

    # The scheduler.

    def _run(self, t: int, thread: int, priority: int | None) -> None:
        self._off.runs(thread, priority)
        if self._off.is_waiting:
            self._pop(TASK, t)
            return
        levels = {visit.level for visit in self._stack}
        cause, detail = self._off.cause(FAULT in levels, SYSCALL in levels)
        entry = "none" if self._off.is_chained else "switch"
        self._off.is_chained = True
        visit = self._push(TASK, cause, "switch", t)
        visit.entry, visit.detail = entry, detail
        visit.by = thread if cause.away is Away.OTHER else -1

    def _switch(self, t: int, previous: int, following: int) -> None:
        self._pop(SOFTIRQ, t)
        thread, priority = following & _LOW, following >> 32
        if priority > 1 << 31:  # deadline threads have -1
            priority -= 1 << 32
        if thread in self._threads:
            self._pop(TASK, t)
            self._off.back()
            return
        if previous & _LOW in self._threads:
            self._end_fault(t)
            self._off.leave(previous >> 32, is_in_own_code=not self._stack)
        self._run(t, thread, priority)

    def _end_fault(self, t: int) -> None:
        """End a page fault that no gap ends: the thread returned from it long before it left."""
        most = self._watched.fault_most_ns
        if most is not None and self._stack and self._stack[0].level == FAULT:
            if t <= self._stack[0].since + most:
                return
            self._pop(FAULT, t)

    def _wakeup(self, t: int, thread: int, _: int) -> None:
        if thread & _LOW in self._threads and self._off.wake():
            self._pop(TASK, t)
            self._run(t, self._off.thread, self._off.priority)

    def _work_entry(self, t: int, function: int, _: int) -> None:
        task = next((v for v in self._stack if v.level == TASK), None)
        if task is None:
            return
        visit = self._push(WORK, task.cause, "none", t)
        if task.cause.away is Away.OTHER:
            visit.cause, visit.by = causes.WORKQUEUE, task.by
            visit.detail = f"{self._names.function(function)} in {self._names.thread(task.by)}"
            if not task.is_named:
                task.cause, task.detail, task.is_named = causes.WORKQUEUE, visit.detail, True
        else:
            visit.detail = task.detail

    def _work_exit(self, t: int, _: int, __: int) -> None:
        self._leave(WORK, t)

    # What the thread does itself.

    def _page_fault(self, t: int, address: int, _: int) -> None:
        self._push(FAULT, causes.PAGE_FAULT, "page_fault", t).detail = f"at {address:#x}"

    def _syscall_entry(self, t: int, number: int, _: int) -> None:
        self._pop(FAULT, t)
        self._push(SYSCALL, causes.SYSCALL, "syscall", t).detail = f"number {number}"

    def _syscall_exit(self, t: int, _: int, __: int) -> None:
        self._leave(SYSCALL, t)

    def _lost(self, t: int, _: int, __: int) -> None:
        self._pop(0, t)
        self._off.back()


def build_timeline(
    events: Events, watched: Watched, spans: tuple[Ints, Ints], names: Names, senders: Senders
) -> Segments:
    """Walk the core's events inside the spans (starts and ends, in order, none overlapping)."""
    walk = _Walk(watched, events, names, senders)
    ends = spans[1]
    current = -1
    for first in range(0, len(events), _CHUNK):
        at, span = _inside(events, slice(first, first + _CHUNK), watched, spans)
        columns = [column[at].tolist() for column in (events.time_ns, events.kind, events.thread)]
        args = zip(events.arg0[at].tolist(), events.arg1[at].tolist(), strict=True)
        for s, row, when, kind, thread, arg in zip(
            span.tolist(), at.tolist(), *columns, args, strict=True
        ):
            if s != current:
                if current >= 0:
                    walk.end(int(ends[current]))
                current = s
                walk.begin(s, int(spans[0][s]))
            walk.event(row, when, kind, thread, arg)
    if current >= 0:
        walk.end(int(ends[current]))
    return walk.out.freeze()


def _inside(
    events: Events, part: slice, watched: Watched, spans: tuple[Ints, Ints]
) -> tuple[Ints, Ints]:
    """Give the positions of the core's events inside the spans, and each one's span."""
    starts, ends = spans
    is_wakeup = events.kind[part] == KIND["wakeup"]
    is_woken = is_wakeup & np.isin(events.arg0[part], list(watched.threads))
    rows = np.flatnonzero((events.cpu[part] == watched.core) & ~is_wakeup | is_woken) + part.start
    t = events.time_ns[rows]
    span = np.searchsorted(starts, t, side="right") - 1
    inside = (span >= 0) & (t <= ends[np.maximum(span, 0)]) if len(starts) else span >= 0
    return rows[inside], span[inside]
