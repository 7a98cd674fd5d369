"""The thread itself called the kernel, and perhaps slept there."""

from taut.explain.cause import Cause, Evidence

CAUSE = Cause(
    id="syscall",
    title="a system call",
    why="The thread itself called the kernel, and perhaps slept there.",
    evidence=Evidence.EVENT,
    remedies=("A04",),
)
