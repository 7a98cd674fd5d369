"""What the kernel did for the thread itself, since it asked. Green."""

from taut.explain.cause import Away, Cause, Evidence, Injector

PAGE_FAULT = Cause(
    id="page-fault",
    title="a page fault",
    why="The thread touched memory that was not mapped, and the kernel mapped it.",
    evidence=Evidence.EVENT,
    seen_by="the fault, of watched threads",
    away=Away.OWN,
    counter="threads:minflt",
    colour=("#14926a", "#2fb98c"),
    remedies=("A01", "A07", "K22", "R15"),
    made=Injector("page-fault"),
)

SYSCALL = Cause(
    id="syscall",
    title="a system call",
    why="The thread itself called the kernel, and perhaps slept there.",
    evidence=Evidence.EVENT,
    seen_by="entry and exit of the call, of watched threads",
    away=Away.OWN,
    colour=("#4f7a00", "#a3c93a"),
    remedies=("A04",),
    made=Injector("syscall"),
)
