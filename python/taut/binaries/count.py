"""taut-count: one pass over the packets of a trial, from a file or through a pipe."""

import fcntl
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from taut.binaries.ended import kind_of, last_words
from taut.core.binaries import find_binary
from taut.core.errors import RequirementNotMet
from taut.records.raw_file import Records
from taut.records.restore import NotForOnePassError, header_of_blocks

PROGRAM = "taut-count"
HISTOGRAMS, TIMES, WORST = "histograms.bin", "times.bin", "worst.bin"
LATE = "late.bin"

_PIPE_BYTES = 1 << 20


def count(
    packets: Path | Iterable[Records],
    folder: Path,
    *,
    n_flows: int = 1,
    note_above_ns: int | None = None,
    late_above_ns: int | None = None,
    in_order: bool = False,
) -> None:
    """Count a file of packets, or blocks of them (restore.py), into files in `folder`.

    With `late_above_ns` only episodes.json is written, of packets that took longer. Those of LATE
    do, which are `in_order`, if `note_above_ns` was not more; where there are too many it is not
    left.
    NotForOnePassError: an engine has to count these records; whatever else it could not do is
    another TautError.
    """
    argv = ["setpriv", "--pdeathsig", "KILL", "--"]
    argv += [str(find_binary(PROGRAM)), "--out", str(folder), "--flows", str(n_flows)]
    if note_above_ns is not None:
        argv.append(f"--note-above={note_above_ns}ns")
    if late_above_ns is not None:
        argv.append(f"--late-above={late_above_ns}ns")
    if in_order:
        argv.append("--in-order")
    argv += ["--packets", str(packets) if isinstance(packets, Path) else "-"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            if not isinstance(packets, Path):
                _feed(process, packets)
            _, said = process.communicate()
        except BaseException:
            process.kill()
            raise
    status = process.returncode
    if status == 0:
        return
    words = last_words(PROGRAM, status, said.decode(errors="replace"))
    if status == RequirementNotMet.exit_status:
        raise NotForOnePassError(words)
    raise kind_of(status)(f"{PROGRAM}: {words}")


def _feed(process: subprocess.Popen[bytes], records: Iterable[Records]) -> None:
    pipe = process.stdin
    assert pipe is not None
    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    # Why it stopped reading it says itself.
    with suppress(BrokenPipeError):
        _write(pipe.fileno(), memoryview(header_of_blocks()))
        for part in records:
            _write(pipe.fileno(), part.view(np.uint8).data)


def _write(pipe: int, data: memoryview) -> None:
    while data:
        data = data[os.write(pipe, data) :]
