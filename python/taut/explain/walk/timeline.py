"""The exclusive timeline of one core: for every moment inside a span, who had the core.

Contexts nest: a non-maskable interrupt over a function call over an interrupt over a softirq over
another task over a page fault or system call over the thread's own time.  The innermost owns the
time.  A span is a gap of a polling thread: where it begins and ends the thread was in its own
loop, so each span starts with nothing nested, and what lost events broke does not last beyond it.
"""

from collections.abc import Callable

import numpy as np

from taut.explain import causes
from taut.explain.arrays import BEFORE_ALL, Ints, at_or
from taut.explain.cause import Away
from taut.explain.read.events import KIND, LOW, Events
from taut.explain.read.facts import throttled_ns
from taut.explain.read.names import Names, softirq_name
from taut.explain.read.senders import Senders
from taut.explain.walk.contexts import (
    CALL,
    FAULT,
    INTERRUPT,
    SOFTIRQ,
    SYSCALL,
    TASK,
    WORK,
    Contexts,
    Visit,
    Watched,
    of_call,
    of_vector,
    sent_by,
)
from taut.explain.walk.layers import NMI_APART_NS
from taut.explain.walk.running import SLEEPS, OffCore
from taut.explain.walk.segments import Segments

_CHUNK = 1 << 17
_SWITCH = KIND["switch"]
_FAULT_OVER_NS = 1_000_000
"""A page fault that does not sleep takes less: to clear a huge page of 2 MB some 100 us."""
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
_ITS_OWN = ("page_fault", "syscall_entry", "syscall_exit")
"""Events that count for watched threads only; another thread's are a part of its turn."""


class _Walk:
    """The state while events are walked; one method for each kind of event."""

    def __init__(self, watched: Watched, events: Events, names: Names, senders: Senders) -> None:
        self._watched, self._events, self._names = watched, events, names
        self._senders = senders.of
        self._row = 0
        self._nmi_ns = -1  # when a handler of a non-maskable interrupt ended last
        self._fault_ns = BEFORE_ALL  # when the last page fault of this span began
        may_throttle = any(any(throttled_ns(names.notes, one)) for one in watched.threads)
        lacks_calls = names.notes.lacks("raw_syscalls/")
        self._calls_known = frozenset(() if lacks_calls else names.notes.watched)
        self._off = OffCore(names, may_throttle, watched.sleeps, not watched.also)
        self.contexts = Contexts(watched, self._off)
        self._open = self.contexts.open
        self._threads = watched.threads
        self._before = watched.before  # 0 as soon as the thread is seen or woken, see _forget
        # Functions, not methods of this object: with a reference to itself it, and the events it
        # holds, would stay in memory until the garbage is looked through.
        named: dict[str, Callable[[_Walk, int, int, int], None]] = {
            "irq_entry": _Walk._irq_entry,
            "irq_exit": _Walk._interrupt_exit,
            "vector_entry": _Walk._vector_entry,
            "vector_exit": _Walk._interrupt_exit,
            "softirq_entry": _Walk._softirq_entry,
            "softirq_exit": _Walk._softirq_exit,
            "timer_entry": _Walk._timer_entry,
            "call_entry": _Walk._call_entry,
            "call_exit": _Walk._call_exit,
            "tlb_flush": _Walk._tlb_flush,
            "switch": _Walk._switch,
            "wakeup": _Walk._wakeup,
            "work_entry": _Walk._work_entry,
            "work_exit": _Walk._work_exit,
            "page_fault": _Walk._page_fault,
            "syscall_entry": _Walk._syscall_entry,
            "syscall_exit": _Walk._syscall_exit,
            "nmi": _Walk._nmi,
            "lost": _Walk._lost,
        }
        self._handlers = {KIND[kind]: handler for kind, handler in named.items()}
        self._foreign = {KIND[kind] for kind in ABOUT_OTHERS}
        self._own = {KIND[kind] for kind in _ITS_OWN}

    def begin(self, span: int, start_ns: int) -> None:
        """Start a span; what came right before any but the first was not kept."""
        self.contexts.begin(span, start_ns)
        self._fault_ns = BEFORE_ALL
        if span > 0:
            self._forget()

    def _forget(self) -> None:
        """Take a thread that sleeps for asleep, where another notes the first event from now on."""
        if self._watched.sleeps:
            self._before = SLEEPS

    def event(self, row: int, t: int, kind: int, thread: int, args: tuple[int, int]) -> None:
        """Hand one event to the method of its kind; other threads' own events are passed over."""
        self._row = row
        if kind not in self._foreign:
            running = args[0] & LOW if kind == _SWITCH else thread
            if (running in self._threads) == self._off.is_off:
                self._resync(t, running)
            elif not self._off.is_off:
                self._before = 0
        if kind in self._own and thread not in self._threads:
            return
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(self, t, *args)

    def _resync(self, t: int, thread: int) -> None:
        """Correct who runs, after a lost switch, by the thread that the event names."""
        self.contexts.pop(TASK, t)
        if thread in self._threads:
            self._before = 0
            self._off.back(thread)
        else:
            self._off.leave(self._before)
            self._run(t, thread, None)

    # Interrupts.

    def _irq_entry(self, t: int, irq: int, _: int) -> None:
        self.contexts.push(INTERRUPT, causes.DEVICE_IRQ, "irq", t).detail = self._names.irq(irq)

    def _vector_entry(self, t: int, vector: int, _: int) -> None:
        cause, entry, detail = of_vector(vector)
        visit = self.contexts.push(INTERRUPT, cause, entry, t)
        visit.detail = detail
        if cause is causes.RESCHEDULE:
            self._name_sender(visit, "")

    def _interrupt_exit(self, t: int, _: int, __: int) -> None:
        self.contexts.leave(INTERRUPT, t)

    def _softirq_entry(self, t: int, number: int, _: int) -> None:
        self.contexts.push(SOFTIRQ, causes.SOFTIRQ, "softirq", t).detail = softirq_name(number)

    def _softirq_exit(self, t: int, _: int, __: int) -> None:
        self.contexts.leave(SOFTIRQ, t)

    def _timer_entry(self, t: int, function: int, _: int) -> None:
        self.contexts.advance(t)
        if self._open and self._open[-1].level in (SOFTIRQ, INTERRUPT):
            self.contexts.note(self._names.function(function))

    def _nmi(self, t: int, handler: int, duration_ns: int) -> None:
        # Stamped at its end; no other event can lie inside.
        last_ns = self.contexts.last_ns
        start = max(t - duration_ns, last_ns)
        is_next = last_ns == self._nmi_ns and start - last_ns <= NMI_APART_NS
        if is_next:
            start = last_ns
        self.contexts.advance(start)
        visit = self.contexts.push(CALL + 1, causes.NMI, "nmi", start)
        visit.detail = self._names.function(handler)
        if is_next:
            visit.entry = "none"
        self.contexts.pop(CALL + 1, t)
        self._nmi_ns = t

    # Function calls from other cores.

    def _call_entry(self, t: int, csd: int, function: int) -> None:
        if not csd:
            # A core's own part of a call to all cores: the running thread keeps running.
            return
        cause, what = of_call(self._names.function(function))
        visit = self.contexts.push(CALL, cause, "call", t)
        if self._open[:-1]:
            visit.entry = "none"
        self._name_sender(visit, what)
        self._rename_interrupt(visit)

    def _name_sender(self, visit: Visit, what: str) -> None:
        sender = int(self._senders[self._row])
        told = sent_by(self._events, self._names, sender, what)
        visit.detail, visit.by, visit.joined = told
        visit.is_named = True

    def _rename_interrupt(self, call: Visit) -> None:
        """Give an interrupt the cause it was sent for: its own time counts with its call's."""
        below = self._open[-2] if len(self._open) > 1 else None
        if below is None or below.level != INTERRUPT or below.is_named:
            return
        if below.cause is causes.FUNCTION_CALL:
            below.cause, below.detail, below.by = call.cause, call.detail, call.by
            below.joined, below.is_named = call.joined, True

    def _call_exit(self, t: int, csd: int, _: int) -> None:
        if csd:
            self.contexts.leave(CALL, t)

    def _tlb_flush(self, t: int, reason: int, pages: int) -> None:
        # Reason 1 is a remote shootdown; a flush for a task switch (0) is none. Older kernels do
        # not name the function an interrupt ran, and the flush inside it is the evidence.
        self.contexts.advance(t)
        if reason != 1 or not self._open or self._open[-1].level not in (INTERRUPT, CALL):
            return
        words = "all pages" if pages >= 1 << 62 else f"{pages} page{'s' if pages != 1 else ''}"
        for visit in self._open:
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
            self.contexts.pop(TASK, t)
            return
        levels = {visit.level for visit in self._open}
        cause, detail = self._off.cause(FAULT in levels, SYSCALL in levels)
        entry = "none" if self._off.is_chained else "switch"
        self._off.is_chained = True
        visit = self.contexts.push(TASK, cause, "switch", t)
        visit.entry, visit.detail = entry, detail
        visit.by = thread if cause.away is Away.OTHER else -1

    def _switch(self, t: int, previous: int, following: int) -> None:
        self.contexts.pop(SOFTIRQ, t)
        thread, priority = following & LOW, following >> 32
        if priority > 1 << 31:  # deadline threads have -1
            priority -= 1 << 32
        if thread in self._threads:
            self._before = 0
            self.contexts.pop(TASK, t)
            self._note_left(t, previous)
            self._off.back(thread)
            return
        if previous & LOW in self._threads:
            self._end_fault(t)
            self._note_left(t, previous)
        self._run(t, thread, priority)

    def _note_left(self, t: int, previous: int) -> None:
        thread = previous & LOW
        if thread in self._threads:
            is_in_call = bool(self._open) or thread not in self._calls_known
            may_fault = t - self._fault_ns < _FAULT_OVER_NS
            self._off.leave(previous >> 32, not is_in_call and not may_fault, thread)

    def _end_fault(self, t: int) -> None:
        """End a page fault that no gap ends, when as much of it has passed as is told at most."""
        most = self._watched.fault_most_ns
        if most is not None and self._open and self._open[0].level == FAULT:
            if t <= self._open[0].since + most:
                return
            self.contexts.pop(FAULT, t)

    def _wakeup(self, t: int, thread: int, core: int) -> None:
        if thread & LOW not in self._threads:
            return
        self._before = 0
        if self._off.is_waiting:
            # Only then: of an interrupt that is stamped at its end the part before would be lost.
            self.contexts.advance(t)
        if self._off.wake(thread & LOW, core & LOW == self._watched.core):
            self.contexts.pop(TASK, t)
            self._run(t, self._off.thread, self._off.priority)

    def _work_entry(self, t: int, function: int, _: int) -> None:
        task = next((v for v in self._open if v.level == TASK), None)
        if task is None or self._is_interrupted():
            return
        visit = self.contexts.push(WORK, task.cause, "none", t)
        if task.cause.away is Away.OTHER:
            visit.cause, visit.by = causes.WORKQUEUE, task.by
            visit.detail = f"{self._names.function(function)} in {self._names.thread(task.by)}"
            if not task.is_named:
                task.cause, task.detail, task.is_named = causes.WORKQUEUE, visit.detail, True
        else:
            visit.detail = task.detail

    def _work_exit(self, t: int, _: int, __: int) -> None:
        if not self._is_interrupted():
            self.contexts.leave(WORK, t)

    def _is_interrupted(self) -> bool:
        """Whether work is a softirq's: from 6.9 on these have some (kernel/workqueue.c, WQ_BH)."""
        return bool(self._open) and self._open[-1].level > WORK

    # What the thread does itself.

    def _page_fault(self, t: int, address: int, _: int) -> None:
        self.contexts.push(FAULT, causes.PAGE_FAULT, "page_fault", t).detail = f"at {address:#x}"
        self._fault_ns = t

    def _syscall_entry(self, t: int, number: int, _: int) -> None:
        self.contexts.pop(FAULT, t)
        self.contexts.push(SYSCALL, causes.SYSCALL, "syscall", t).detail = f"number {number}"

    def _syscall_exit(self, t: int, _: int, __: int) -> None:
        self.contexts.leave(SYSCALL, t)

    def _lost(self, t: int, _: int, __: int) -> None:
        self.contexts.pop(0, t)
        self._off.reset()
        self._forget()


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
                    walk.contexts.end(int(ends[current]))
                current = s
                walk.begin(s, int(spans[0][s]))
            walk.event(row, when, kind, thread, arg)
    if current >= 0:
        walk.contexts.end(int(ends[current]))
    return walk.contexts.out.freeze()


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
    inside = t <= at_or(ends, span, BEFORE_ALL)
    return rows[inside], span[inside]
