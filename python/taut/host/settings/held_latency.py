"""The longest wake-up a processor may take, held by a small process (`taut host hold`).

The kernel keeps the limit while /dev/cpu_dma_latency is open: no longer
(Documentation/power/pm_qos_interface.rst).
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.threads import start_ticks
from taut.host.writer import Writer

DEVICE = "/dev/cpu_dma_latency"
PID_FILE = "/run/taut-host/cpu_dma_latency"
"""One line: process id, its start ticks, microseconds."""

_WAIT_S = 60.0


@dataclass(frozen=True)
class Holder:
    """The process that holds it."""

    process: int
    start_ticks: int
    latency_us: int

    def __str__(self) -> str:
        return f"{self.process} {self.start_ticks} {self.latency_us}\n"


@dataclass(frozen=True)
class HeldLatency:
    """The value is microseconds, as taut's own holder holds them; None: there is no holder."""

    kind: ClassVar[str] = "held-latency"

    @property
    def name(self) -> str:
        return f"held {DEVICE}"

    def read(self, host: Host) -> str | None:
        """Give what taut's holder holds; a limit held by another program is not seen here."""
        holder = find_holder(host)
        return None if holder is None else str(holder.latency_us)

    def write(self, writer: Writer, value: str | None) -> None:
        """Start a holder that outlives taut, or end it."""
        holder = find_holder(writer.host)
        if holder is not None:
            writer.end_process(holder.process)
            _wait(lambda: find_holder(writer.host) is None, "the old holder does not end")
        if value is None:
            return
        argv = [sys.executable, "-m", "taut.cli.main", "host", "hold"]
        go = writer.start_process([*argv, "--latency", value, "--wait-for-go"])
        with go:
            _wait(
                lambda: self.read(writer.host) == value,
                f"`taut host hold --latency {value}` did not start; call it to see why",
            )
            go.write(b"go\n")

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None


def find_holder(host: Host) -> Holder | None:
    """Give taut's holder, if it lives: another process may have got its number since."""
    fields = (host.read(PID_FILE) or "").split()
    if len(fields) != 3 or not all(field.isdigit() for field in fields):
        return None
    holder = Holder(*(int(field) for field in fields))
    return holder if start_ticks(host, holder.process) == holder.start_ticks else None


def _wait(is_done: Callable[[], bool], complaint: str) -> None:
    end = time.monotonic() + _WAIT_S
    while not is_done():
        if time.monotonic() > end:
            raise OSError(0, complaint)
        time.sleep(0.01)
