"""QEMU's monitor (QMP): one question at a time over a socket."""

import json
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from taut.core.errors import TrialError
from taut.records.documents.json_form import plain, read_object

_TIMEOUT_S = 60.0


class Qmp:
    """A connection to one QEMU; context manager."""

    def __init__(self, path: Path, timeout_s: float = _TIMEOUT_S) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rb")
        self._file.readline()  # its greeting
        self.ask("qmp_capabilities")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, command: str, **arguments: object) -> object:
        """Run a command and give what it returns; TrialError with QEMU's own words if it fails."""
        question = {"execute": command, **({"arguments": arguments} if arguments else {})}
        try:
            self._socket.sendall(json.dumps(plain(question)).encode() + b"\n")
            while True:
                line = self._file.readline()
                if not line:
                    raise TrialError(f"qemu: went away when it was asked to {command}")
                answer = read_object(line.decode(errors="replace")) or {}
                if isinstance(error := answer.get("error"), dict):
                    raise TrialError(f"qemu: {command}: {error.get('desc')}")
                if "return" in answer:  # else an event
                    return answer["return"]
        except OSError as error:
            raise TrialError(f"qemu: no answer to {command}: {error}") from None


def cpu_threads(qmp: Qmp) -> dict[int, int]:
    """Give the host's thread of each virtual CPU."""
    said = qmp.ask("query-cpus-fast")
    found = said if isinstance(said, list) else []
    return {cpu["cpu-index"]: cpu["thread-id"] for cpu in found if isinstance(cpu, dict)}
