"""Why a thread is off its core, and what that makes of whoever runs instead."""

from taut.analysis.explain.naming import Names, running_cause

# include/trace/events/sched.h: prev_state is a mask of these; 0x100 is added when preempted.
_STOPPED = 0x04 | 0x08  # by a signal, by a debugger
_BLOCKED = 0x01 | 0x02 | 0x10 | 0x20 | 0x40 | 0x80

# A thread that polls is preempted where it goes back to its own code, which is no preemption of the
# kernel (0). This one is: from 6.18 on the kernel throttles a thread by work it does itself there.
_IN_KERNEL = 0x100

_ORDINARY = 120


class OffCore:
    """State from the switch away from the watched thread until the switch back to it."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.reset()

    def reset(self) -> None:
        """The thread runs."""
        self.is_off = self.is_chained = False
        self._reason, self._was_woken, self._is_throttled = "runnable", False, False
        self.thread, self.priority = 0, _ORDINARY

    def back(self) -> None:
        """The thread runs again."""
        self.reset()

    def leave(self, state: int, may_throttle: bool = False) -> None:
        """The thread leaves its core in a state of sched_switch.

        `may_throttle`: its group was throttled during the trace, and it was in no call or fault.
        """
        self.reset()
        self.is_off = True
        if state & _STOPPED:
            self._reason = "stopped"
        elif state & _BLOCKED:
            self._reason = "blocked"
        # Then it is throttled whoever runs meanwhile.
        self._is_throttled = may_throttle and state == _IN_KERNEL

    def wake(self) -> bool:
        """The thread may run again. Returns whether that changes anything."""
        if not self.is_off or self._reason == "runnable":
            return False
        self._reason, self._was_woken = "runnable", True
        return True

    def running(self, thread: int, priority: int | None, in_fault: bool) -> tuple[str, str]:
        """Name the cause while `thread` has the core, and say more."""
        self.thread, self.priority = thread, _ORDINARY if priority is None else priority
        if self._reason == "stopped":
            return "stopped", "until it was continued"
        if self._reason == "blocked":
            return ("page-fault", "from disk") if in_fault else ("syscall", "that slept")
        if thread == 0:
            if self._was_woken:
                return "idle-exit", ""
            # Fit to run, and the core idles: it was not allowed to.
            self._is_throttled = True
        if self._is_throttled:
            return "throttled", ""
        return running_cause(self._names.comm(thread), self.priority), self._names.thread(thread)
