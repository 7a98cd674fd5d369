"""The host's end of a guest's channels: shell commands, and readings of the guest's clocks."""

import socket
import time
from pathlib import Path
from typing import NamedTuple

from taut.core.errors import TrialError
from taut.records.documents.json_form import read_object

_BLOCK = 1 << 16


class Answer(NamedTuple):
    """What a command in the guest ended with, and printed."""

    status: int
    said: bytes

    @property
    def text(self) -> str:
        return self.said.decode(errors="replace")


class Channel:
    """One virtio-serial port. It is there before the guest is: what is sent waits for it."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._left = b""

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()

    def run(self, line: str, timeout_s: float = 60.0, *, doing: str = "") -> Answer:
        """Have the guest run one line of shell; TrialError where it does not answer.

        `doing` is what the line is for, in an error's words; empty: the line itself says it.
        """
        if "\n" in line:
            raise ValueError(f"{line!r} is more than one line: each would be answered")
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(line.encode() + b"\n")
            status, size = self._line().split()
            return Answer(int(status), self._exactly(int(size)))
        except (OSError, ValueError):
            raise TrialError(f"guest: {doing or line}: no answer in {timeout_s:g} s") from None

    def must(self, line: str, timeout_s: float = 60.0, *, doing: str = "") -> Answer:
        """The same; TrialError where the command fails, with what it said last."""
        answer = self.run(line, timeout_s, doing=doing)
        if answer.status != 0:
            said = answer.text.strip().splitlines()
            why = said[-1] if said else f"exit status {answer.status}"
            raise TrialError(f"guest: {doing or line}: {why}", said[-20:])
        return answer

    def read_clock(self, timeout_s: float = 60.0) -> "Exchange":
        """Ask taut-clock at the other end for one reading."""
        try:
            self._socket.settimeout(timeout_s)
            sent_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            self._socket.sendall(b"\n")
            line = self._line()
            received_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        except OSError:
            raise TrialError(f"guest: its clock gave no reading in {timeout_s:g} s") from None
        tsc = (read_object(line.decode(errors="replace")) or {}).get("tsc")
        if not isinstance(tsc, int):
            raise TrialError(f"guest: {line!r} is no reading of its clock")
        return Exchange(sent_ns, received_ns, tsc)

    def _line(self) -> bytes:
        while b"\n" not in self._left:
            self._more()
        line, _, self._left = self._left.partition(b"\n")
        return line

    def _exactly(self, size: int) -> bytes:
        blocks = [self._left]
        n = len(self._left)
        while n < size:
            blocks.append(self._receive())
            n += len(blocks[-1])
        whole = b"".join(blocks)
        self._left = whole[size:]
        return whole[:size]

    def _more(self) -> None:
        self._left += self._receive()

    def _receive(self) -> bytes:
        block = self._socket.recv(_BLOCK)
        if not block:
            raise OSError("the guest is gone")
        return block


class Exchange(NamedTuple):
    """One question to the guest's clock, and when it was asked and answered by the host's."""

    sent_ns: int
    received_ns: int
    guest_tsc: int
