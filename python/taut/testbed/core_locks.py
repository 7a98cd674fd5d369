"""Only one measurement on a core: two that share one unknowingly both get meaningless numbers.

A lock is a socket in the kernel's abstract namespace (unix(7)), one for each core: it is the same
for all users, leaves nothing behind, and is gone when its holder dies. Whoever connects to it
learns from the kernel who holds it. Containers with a network namespace of their own do not see it.
"""

import errno
import os
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from taut.core.cpus import CpuSet, cpuset_cores
from taut.core.errors import InputError
from taut.core.timings import stage

_WAIT_S = 0.5
_BACKLOG = 4096
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


def busy_cores(cores: Iterable[int]) -> CpuSet:
    """Give those of the cores that another measurement holds."""
    return tuple(core for core in cores if _holder(core) is not None)


def leave_measured(also: Iterable[int] = ()) -> bool:
    """Bind this process to cores that no measurement holds; False, and nothing done: none is free.

    `also` are cores known to be measured on, whose lock may be in a network namespace of its own.
    """
    mine = os.sched_getaffinity(0)
    held = {*also, *busy_cores(mine)} & mine
    if held == mine:
        return False
    if held:
        os.sched_setaffinity(0, mine - held)
    return True


def refuse_others(cores: Iterable[int], advice: str = "wait for its end") -> None:
    """InputError: another process, of any user, measures on one of the cores of this host.

    Called by who is to change the host, under all of them.
    """
    for core in cores:
        if _holder(core) not in (None, os.getpid()):
            raise InputError(f"{_who(core)}, on this host, whose settings this changes; {advice}")


@contextmanager
def measuring_on(
    cores: Iterable[int], *, wait: bool = False, waiting: Callable[[str], None] = lambda _: None
) -> Iterator[bool]:
    """Hold the cores while the body of the `with` runs; give whether others had to end first.

    InputError names another measurement that holds one; with `wait`, wait for its end instead, and
    call `waiting` once with the words for whom.
    """
    wanted = sorted(set(cores))
    with ExitStack() as held:
        told = ""
        while (busy := _take(wanted, held)) is not None:
            who = _who(busy)
            if not wait:
                raise InputError(f"{who}; wait for its end (--wait){_or_elsewhere()}")
            if who != told:
                waiting(f"{who}; waiting for its end")
                told = who
            with stage("waiting for cores"):
                time.sleep(_WAIT_S)
        yield bool(told)


def _take(cores: Sequence[int], held: ExitStack) -> int | None:
    """Take all or none; give the first core that somebody else holds."""
    with ExitStack() as taken:
        for core in cores:
            lock = taken.enter_context(_socket(n_cores=len(cores)))
            try:
                lock.bind(_name(core))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                return core
            lock.listen(_BACKLOG)
        held.enter_context(taken.pop_all())
    return None


def _socket(n_cores: int) -> socket.socket:
    try:
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        raise InputError(
            f"{n_cores} cores: as many files more than this process may have open; "
            "raise that (ulimit -n), or name fewer cores"
        ) from None


def _name(core: int) -> bytes:
    return f"\0taut-measures-on-core-{core}".encode()


def _holder(core: int) -> int | None:
    """Give the process that holds a core; 0 where the kernel does not say; None: nobody."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_name(core))
        except ConnectionRefusedError:
            return None
        except BlockingIOError:
            return 0  # its queue is full: thousands ask
        answer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process: int = _CREDENTIALS.unpack(answer)[0]
    return process


def _or_elsewhere() -> str:
    """Advise other cores, unless somebody has every one that this process may use."""
    mine = cpuset_cores()
    return "" if busy_cores(mine) == mine else ", or measure on other cores"


def _who(core: int) -> str:
    """Say who has a core."""
    process = _holder(core)
    if not process:
        return f"core {core}: another taut has it"
    if process == os.getpid():
        return f"core {core}: this very process has it already"
    return f"core {core}: `{_command(process)}` (pid {process}) has it"


def _command(process: int) -> str:
    """Give a process's command line without the interpreter, cut to 60 characters."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "taut"
    named = next((at for at, word in enumerate(words) if Path(word).name == "taut"), None)
    said = " ".join(" ".join(["taut", *words[named + 1 :]] if named is not None else words).split())
    return said if len(said) <= 60 else f"{said[:57]}..."
