"""Hold the limit on wake-up latency: the kernel keeps it as long as a process has the file open."""

import os
import select
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from taut.core.errors import InputError, TautError
from taut.host.host import Host
from taut.host.settings.held_latency import DEVICE, PID_FILE, Holder, find_holder
from taut.host.threads import start_ticks

_LARGEST_US = 2**31 - 1
_LONGEST_S = 10**9
"""More than anybody waits, and less than what the kernel's time has no room for."""


def hold(host: Host, latency_us: int, *, seconds: float | None, waits_for_go: bool) -> None:
    """Hold the limit until SIGTERM or SIGINT, or for `seconds`; InputError: another one holds."""
    if not 0 <= latency_us <= _LARGEST_US:
        raise InputError(f"latency {latency_us}: microseconds from 0 to {_LARGEST_US}")
    # Not a number is on neither side of any.
    if seconds is not None and not 0 <= seconds <= _LONGEST_S:
        raise InputError(
            f"seconds {seconds}: from 0 to {_LONGEST_S}; without, it holds until it is told to end"
        )
    other = find_holder(host)
    if other is not None:
        raise InputError(
            f"process {other.process} holds {other.latency_us} µs already; end it first"
        )
    with signals_to_pipe() as stop:
        _hold(host, latency_us, seconds, stop, waits_for_go=waits_for_go)


def _hold(
    host: Host, latency_us: int, seconds: float | None, stop: int, *, waits_for_go: bool
) -> None:
    descriptor = _open(host)
    file = host.root / PID_FILE.lstrip("/")
    try:
        os.write(descriptor, struct.pack("=i", latency_us))
        _register(host, file, latency_us)
        if waits_for_go and not _told_to_go(stop):
            return
        select.select([stop], [], [], seconds)
    finally:
        _unregister(host, file)
        os.close(descriptor)


def _open(host: Host) -> int:
    try:
        return os.open(host.root / DEVICE.lstrip("/"), os.O_WRONLY)
    except PermissionError:
        raise InputError(f"{DEVICE}: permission denied; run as root") from None
    except OSError as error:
        raise TautError(f"{DEVICE}: {error.strerror}; this kernel has no PM QoS") from None


def _register(host: Host, file: Path, latency_us: int) -> None:
    process = os.getpid()
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{process}")
    partial.write_text(str(Holder(process, start_ticks(host, process) or 0, latency_us)))
    partial.rename(file)


def _unregister(host: Host, file: Path) -> None:
    holder = find_holder(host)
    if holder is not None and holder.process == os.getpid():
        file.unlink(missing_ok=True)


def _told_to_go(stop: int) -> bool:
    """Whether the apply that started us told us to go on; it died if the input ends before."""
    ready, _, _ = select.select([stop, sys.stdin.fileno()], [], [])
    return stop not in ready and bool(os.read(sys.stdin.fileno(), 1))


@contextmanager
def signals_to_pipe() -> Iterator[int]:
    """Give a descriptor that can be read once a signal asks us to end.

    C writes into it, when the signal comes: a handler of Python's runs between two of its steps,
    and not in a select() that has just been begun.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def ignore(number: int, frame: FrameType | None) -> None:
        """Keep the signal from what it does by itself."""

    before = {number: signal.signal(number, ignore) for number in (signal.SIGTERM, signal.SIGINT)}
    woken = signal.set_wakeup_fd(writer)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)
