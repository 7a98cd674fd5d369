"""What taut-forward says, before a run, of its network functions, their files and its memory."""

import subprocess
from collections.abc import Sequence

from taut.core.asked import Asked, to_arguments
from taut.core.binaries import find_binary

PROGRAM = "taut-forward"
# Of all kinds of ports those that take the most packets. They need not be there.
_PORTS = ("xdp:0", "xdp:1")


def memory_of(nf: Sequence[str], hold: int | None = None) -> tuple[int, str | None]:
    """Ask the program how many MB it takes; 0 and its own line where it refuses something.

    They are for packets and tables. It loads shared objects and reads files for that, as at the
    start of a trial. `hold` as its option; None: the program's.
    """
    if not nf:
        return 0, None
    held = {} if hold is None else {"hold": str(hold)}
    asked: Asked = {"port": _PORTS, "nf": tuple(nf), **held, "memory": True}
    argv = [str(find_binary(PROGRAM)), *to_arguments(asked)]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    words = f"nf {' '.join(nf)}"
    if done.returncode != 0:
        said = done.stderr.splitlines()
        return 0, said[-1] if said else f"{PROGRAM}: {words}: it died when it loaded that"
    # What a function of one's own prints stands before it.
    last = done.stdout.rstrip().rpartition("\n")[2]
    if last.isdecimal():
        return int(last), None
    return 0, (
        f"{words}: it printed {last[:40]!r} where {PROGRAM} tells its memory; have functions print"
        " to standard error"
    )
