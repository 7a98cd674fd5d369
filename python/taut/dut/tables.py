"""What taut-forward says, before a run, of its network functions and the files they read."""

import subprocess
from collections.abc import Sequence

from taut.core.asked import Asked, to_arguments
from taut.core.binaries import find_binary

PROGRAM = "taut-forward"


def tables_of(nf: Sequence[str], n_ports: int) -> tuple[int, str | None]:
    """Ask the program how many MB its tables take; 0 and its own line where it refuses something.

    It loads shared objects and reads files for that, as at the start of a trial.
    """
    if not nf:
        return 0, None
    ports = tuple(f"null:{i}" for i in range(n_ports))
    asked: Asked = {"port": ports, "nf": tuple(nf), "tables": True}
    argv = [str(find_binary(PROGRAM)), *to_arguments(asked)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return int(done.stdout), None
    said = done.stderr.splitlines()
    return 0, said[-1] if said else f"{PROGRAM}: nf {' '.join(nf)}: it died when it loaded that"
