"""A signal (SIGSTOP, a debugger) stopped the thread until it was continued."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="stopped",
    title="the thread was stopped",
    why="A signal (SIGSTOP, a debugger) stopped the thread until it was continued.",
    evidence=Evidence.EVENT,
    counter="threads:voluntary",
    ask="who sends SIGSTOP, or attaches a debugger, to this process",
)
