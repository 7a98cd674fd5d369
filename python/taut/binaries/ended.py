"""How a program of ours ended: its exit status and its last line, as an error of the tree."""

import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from taut.core.errors import InputError, InterruptedRun, TautError
from taut.records.documents.json_form import JsonObject, read_object

_GRACE_S = 30
"""Allowed after Ctrl-C: files are written then."""


def kind_of(status: int) -> type[TautError]:
    """Say which error an exit status stands for; dataplane/base/program.h has the same."""
    if status in (InterruptedRun.exit_status, -signal.SIGINT):
        return InterruptedRun
    return InputError if status == InputError.exit_status else TautError


def last_words(program: str, status: int, said: str) -> str:
    """Give the last line on its standard error, without its name, and else how it ended."""
    line = "".join(said.strip().splitlines()[-1:]).removeprefix(f"{program}: ")
    if status < 0:
        return f"ended by signal {-status}" + (f": {line}" if line else "")
    return line or f"exit status {status}"


def waited(process: subprocess.Popen[str], program: str, timeout_s: float) -> tuple[str, str, bool]:
    """Give both outputs, and whether we were told to stop meanwhile: it ends early then."""
    try:
        return *process.communicate(timeout=timeout_s), False
    except KeyboardInterrupt:
        # A terminal sends Ctrl-C to both of us; a second signal does no harm.
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        return *process.communicate(timeout=_GRACE_S), True
    except subprocess.TimeoutExpired:
        raise TautError(f"{program}: no end after {timeout_s:.0f} s") from None


def printed(program: str, command: Sequence[str], status: int, out: str, said: str) -> JsonObject:
    """Give the document it printed, whole or ended early by a signal; TautError: it failed."""
    document = read_object(out)
    if document is not None and status in (0, InterruptedRun.exit_status):
        return document
    why = f"{program.removeprefix('taut-')}: {last_words(program, status, said)}"
    if kind_of(status) is InputError:
        raise InputError(why)
    raise TautError(f"{why}; run {' '.join(command)}")
