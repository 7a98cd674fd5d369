"""SOCK01: whether a socket that asks for nothing holds a burst while its reader is away."""

from taut.host.check import Severity
from taut.host.table import file_check

LEAST_BYTES = 1 << 20
"""A millisecond at 10 Gbit/s is 1.25 MB; the kernel counts buffers, not frames."""

SOCK01 = file_check(
    "SOCK01",
    "default receive buffer of sockets",
    "sockets lose bursts while their reader is not running",
    Severity.MINOR,
    "/proc/sys/net/core/rmem_default",
    lambda text: int(text) >= LEAST_BYTES,
    f"{LEAST_BYTES} bytes or more",
    why="a reader that is off its core for a millisecond finds its socket full, and frames lost",
    source="socket(7), SO_RCVBUF",
    put=str(LEAST_BYTES),
    cost="memory for every socket that does not choose for itself",
)
