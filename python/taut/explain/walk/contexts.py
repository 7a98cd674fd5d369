"""What is open on a core, one inside the other, and whose time passes: the innermost's.

What an interrupt or a call is taken for, and by whom it was sent, is decided here for every walk.
"""

from dataclasses import dataclass

from taut.explain import causes
from taut.explain.cause import Cause
from taut.explain.causes import OF_CALL, OF_VECTOR
from taut.explain.read.events import KIND, Events
from taut.explain.read.names import Names, vector_name
from taut.explain.walk.running import OffCore
from taut.explain.walk.segments import CLASS_NUMBER, SegmentLists

# Depth of a context; a new one ends all contexts of its own level and above: their end was lost.
FAULT, SYSCALL, TASK, WORK, SOFTIRQ, INTERRUPT, CALL = 10, 12, 20, 25, 30, 40, 45

_MOST_NAMES = 3
_NAMED_BY_VECTOR = (causes.TIMER, causes.RESCHEDULE, causes.FUNCTION_CALL, causes.IRQ_WORK)
"""The vector's name says no more than the cause."""


def of_vector(number: int) -> tuple[Cause, str, str]:
    """Give an interrupt of the processor its cause, entry class and details."""
    name = vector_name(number)
    cause = OF_VECTOR.get(name, causes.DEVICE_IRQ)
    entry = name if name in CLASS_NUMBER else "vector"
    return cause, entry, "" if cause in _NAMED_BY_VECTOR else name


def of_call(name: str) -> tuple[Cause, str]:
    """Give a function that another core had called its cause, and its name where that says more."""
    cause = OF_CALL.get(name, causes.FUNCTION_CALL)
    return cause, name if cause is causes.FUNCTION_CALL else ""


def sent_by(events: Events, names: Names, row: int, what: str) -> tuple[str, int, bool]:
    """Say of `what` who sent it, in words, by the thread (-1), and whether that is proved.

    `row`: the event of its sending, -1: not known.
    """
    if row < 0:
        return what, -1, False
    # Of a reschedule interrupt it is the only sending there is, which those that are lost belie.
    if names.notes.lost_senders and events.kind[row] == KIND["ipi_send_for"]:
        return what, -1, False
    thread, on = int(events.thread[row]), f"on cpu{int(events.cpu[row])}"
    return f"{what} by {names.thread(thread)} {on}".strip(), max(thread, -1), True


class Visit:
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
    before: int = 0
    """Its state when the trace began, as sched_switch has it; 0: it ran, or was to run."""
    calls_are_work: bool = False
    """Whether its packets go through the kernel: a system call is then its own work."""

    @property
    def threads(self) -> frozenset[int]:
        return self.also | {self.thread}


class Contexts:
    """The contexts that are open inside a span, the outermost first; what ends stands in `out`."""

    def __init__(self, watched: Watched, off: OffCore) -> None:
        self.out = SegmentLists()
        self.open: list[Visit] = []
        self.last_ns = 0
        self._watched, self._off = watched, off
        self._span = 0
        self._bears = False

    def begin(self, span: int, start_ns: int) -> None:
        """Start a span: the thread is in its own loop."""
        self._span, self.last_ns, self._bears = span, start_ns, False
        self._off.reset()

    def end(self, end_ns: int) -> None:
        """End a span, and every context that is still open."""
        self.pop(0, end_ns)

    def advance(self, t: int) -> None:
        """Give the time until t to the innermost context; with none open it is the thread's own."""
        if t <= self.last_ns:
            return
        if self.open:
            top = self.open[-1]
            most = self._watched.fault_most_ns
            until = t
            if top.level == FAULT and most is not None:
                until = min(t, top.since + most)
            # A thread with nothing to do is not held up.
            is_own = self._off.is_waiting or (top.level == SYSCALL and self._watched.calls_are_work)
            if until > self.last_ns and not is_own:
                self.out.add(self._span, self.last_ns, until, top.id)
        self.last_ns = t

    def push(self, level: int, cause: Cause, entry: str, t: int) -> Visit:
        """Open a context; what is open of its level and above has ended, its exit was lost."""
        self.pop(level, t)
        is_over_own = not self.open or self.open[-1].level < TASK
        # Softirqs run at an interrupt's end: its entry cost is theirs, too.
        bears = is_over_own and not (level == SOFTIRQ and self._bears)
        self._bears |= bears
        visit = Visit(level, cause, entry if bears else "none", t)
        visit.id = self.out.open(self._span)
        self.open.append(visit)
        return visit

    def pop(self, level: int, t: int) -> None:
        """End every context of a level and above."""
        self.advance(t)
        stack = self.open
        while stack and stack[-1].level >= level:
            v = stack.pop()
            self.out.close(v.id, v.cause, v.entry, v.detail, v.by, v.joined)

    def leave(self, level: int, t: int) -> None:
        """End one context, if it is open: an exit without its entry means nothing."""
        for visit in self.open:
            if visit.level == level:
                self.pop(level, t)
                return

    def note(self, text: str) -> None:
        """Add details to the innermost context."""
        top = self.open[-1]
        if not top.detail:
            top.detail = text
        elif text not in top.detail and top.detail.count(" + ") < _MOST_NAMES - 1:
            top.detail += f" + {text}"
