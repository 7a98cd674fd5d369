"""Why a thread is off its core, and which cause whoever runs instead stands for."""

from taut.explain import causes
from taut.explain.cause import Cause
from taut.explain.read.names import Names, running_cause

# include/trace/events/sched.h: prev_state is a mask of these; 0x100 is added when preempted.
_STOPPED = 0x04 | 0x08  # by a signal, by a debugger
_GONE = 0x10 | 0x20  # it has ended
SLEEPS = 0x01
ASLEEP = SLEEPS | 0x02 | 0x40 | 0x80

# A thread that polls is switched away on its return to user code with state 0. A preemption inside
# the kernel is different: from 6.18 on the kernel throttles a thread by work it does itself there
# (kernel/sched/fair.c, throttle_cfs_rq_work).
_IN_KERNEL = 0x100
_THROTTLES_ITSELF = (6, 18)

# /proc/PID/status names the same states by letters (fs/proc/array.c); I sleeps as D does.
_OF_LETTER = {
    "S": SLEEPS,
    "D": 0x02,
    "I": 0x02,
    "T": 0x04,
    "t": 0x08,
    "X": 0x10,
    "Z": 0x20,
    "P": 0x40,
}

ORDINARY = 120

IDLE_WORDS = "its core idled though it was fit to run, and no quota of its was used up"
EITHER_WORDS = "its core idled after its wake-up: still waking, or kept off by the quota"
GONE_WORDS = "it had ended"
SLEPT_WORDS = "it slept, and no system call of it was recorded"


def state_of(words: str) -> int:
    """Give what sched_switch calls a thread's State in /proc: `S (sleeping)` is 1; 0: it may run.

    Of a thread that is not there, or in a state that is not known, it is taken that it may run.
    """
    return _OF_LETTER.get(words[:1], 0)


class OffCore:
    """State from the switch away from a watched thread until the switch back to one.

    `may_throttle`: its control group was throttled during the trace. `sleeps`: it waits for packets
    asleep, so that its sleep is none of its stalls. `is_one`: no other thread is watched.
    """

    def __init__(
        self, names: Names, may_throttle: bool = False, sleeps: bool = False, is_one: bool = True
    ) -> None:
        self._names, self._may_throttle, self._sleeps = names, may_throttle, sleeps
        self._may_throttle_itself = may_throttle and names.notes.kernel >= _THROTTLES_ITSELF
        self._gone = "blocked" if sleeps and not is_one else "gone"
        self.reset()

    def reset(self) -> None:
        """Take the thread as running, whatever was known before."""
        self._waiting: set[int] = set()
        """Watched threads that wait for the core, fit to run."""
        self.back()

    def back(self, thread: int = -1) -> None:
        """The thread runs again."""
        self._waiting.discard(thread)
        self.is_off = self.is_chained = False
        self._left, self._was_woken, self._is_throttled = -1, False, False
        self._reason = self._own_reason = "runnable"
        self.thread, self.priority = 0, ORDINARY

    @property
    def is_waiting(self) -> bool:
        """Whether the thread is off the core because it has nothing to do."""
        return self._reason == "blocked" and self._sleeps

    def leave(self, state: int, is_in_own_code: bool = False, thread: int = -1) -> None:
        """The thread leaves its core in a state of sched_switch; -1: which one is not known.

        `is_in_own_code`: it was known to be in no system call and no page fault.
        """
        self.back(thread)
        self.is_off, self._left = True, thread
        if state & _STOPPED:
            self._own_reason = "stopped"
        elif state & _GONE:
            self._own_reason = self._gone
        elif state & ASLEEP:
            self._own_reason = "blocked"
        elif thread >= 0:
            self._waiting.add(thread)
        is_other_held = self._waiting and self._own_reason in ("blocked", "gone")
        self._reason = "runnable" if is_other_held else self._own_reason
        # In that case it is throttled, whoever runs meanwhile.
        self._is_throttled = self._may_throttle_itself and is_in_own_code and state == _IN_KERNEL

    def wake(self, thread: int, is_here: bool) -> bool:
        """Note that a thread may run again, on this core or another; True if none could before."""
        if is_here:
            self._waiting.add(thread)
        is_dead = self._reason == "gone" and thread == self._left
        if not self.is_off or is_dead:
            return False
        was_fit = self._reason == "runnable"
        self._was_woken |= self._own_reason != "runnable"
        self._reason = "runnable"
        return not was_fit

    def runs(self, thread: int, priority: int | None) -> None:
        """Another thread has the core from now on."""
        self.thread, self.priority = thread, ORDINARY if priority is None else priority
        if thread == 0 and not self._was_woken and self._reason != self._own_reason:
            # With an idle core nobody waits for it: who did has got another.
            self._waiting.clear()
            self._reason = self._own_reason

    def cause(self, in_fault: bool, in_call: bool) -> tuple[Cause, str]:
        """Name the cause while that thread has the core, and say more.

        A verdict needs its own evidence: *system call*, that the thread was in one; *throttled*,
        that a quota was used up. An idle core alone is no cause. Where a group has a quota that is
        used up, a wake-up that finds it so looks like a slow one.
        """
        if self._reason == "stopped":
            return causes.STOPPED, "until it was continued"
        if self._reason == "gone":
            return causes.UNKNOWN, GONE_WORDS
        if self._reason == "blocked":
            if in_fault:
                return causes.PAGE_FAULT, "from disk"
            return (causes.SYSCALL, "that slept") if in_call else (causes.UNKNOWN, SLEPT_WORDS)
        if self.thread == 0:
            if self._was_woken and self._may_throttle:
                return causes.UNKNOWN, EITHER_WORDS
            if self._was_woken:
                return causes.IDLE_EXIT, ""
            if not self._may_throttle:
                return causes.UNKNOWN, IDLE_WORDS
            # It was runnable while the core was idle: it was not allowed to run.
            self._is_throttled = True
        if self._is_throttled:
            return causes.THROTTLED, ""
        return running_cause(self._names.comm(self.thread), self.priority), self._names.thread(
            self.thread
        )
