"""What /proc says of a thread, for trees."""

from host_tree import Link

KERNEL = 0x00200000
BOUND = 0x04200000
USER = 0x00400000
PID_NAMESPACE = "/proc/self/ns/pid"
HIDDEN = {PID_NAMESPACE: Link("pid:[4026531836]")}
"""The first PID namespace, and no kernel thread to be seen: /proc has hidepid."""


def thread_files(
    tid: int,
    comm: str,
    allowed: str,
    *,
    pid: int | None = None,
    flags: int = USER,
    last_core: int = 0,
    scheduler: tuple[int, int] = (0, 0),
    faults: tuple[int, int] = (0, 0),
    status: str = "",
) -> dict[str, str]:
    """Give stat and status of a thread (of a process of its own where no pid is given).

    `scheduler`: policy and priority; `faults`: minor and major.
    """
    stat = stat_line(tid, comm, flags, last_core, scheduler, faults)
    shown = f"Name:\t{comm}\nTgid:\t{pid or tid}\n{status}Cpus_allowed_list:\t{allowed}\n"
    folder = f"/proc/{pid or tid}/task/{tid}"
    files = {f"/proc/{tid}/stat": stat, f"/proc/{tid}/status": shown}
    return files | {f"{folder}/comm": f"{comm}\n"}


def stat_line(
    tid: int,
    comm: str,
    flags: int = USER,
    last_core: int = 0,
    scheduler: tuple[int, int] = (0, 0),
    faults: tuple[int, int] = (0, 0),
) -> str:
    """Give a line of stat (proc(5))."""
    fields = ["0"] * 50
    fields[0] = "R"
    fields[6] = str(flags)
    fields[7], fields[9] = str(faults[0]), str(faults[1])
    fields[19] = str(tid * 10)
    fields[36] = str(last_core)
    fields[38], fields[37] = str(scheduler[0]), str(scheduler[1])
    return f"{tid} ({comm}) {' '.join(fields)}\n"
