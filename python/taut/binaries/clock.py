"""The TSC as taut-clock sees it: usable or not, its rate, its skew between cores."""

import subprocess
from collections.abc import Sequence

from taut.binaries.ended import last_words
from taut.core.binaries import find_binary
from taut.core.cpus import format_cpu_list
from taut.core.errors import TautError
from taut.records.documents.json_form import parse, read_object
from taut.records.documents.trial import ClockReading

_PROGRAM = "taut-clock"
_TIMEOUT_S = 60


def read_clock(cores: Sequence[int] = ()) -> ClockReading:
    """Run taut-clock on cores and give what it measured; `usable` may be false.

    TautError: it failed, also after a part of its answer, as where a core went offline meanwhile.
    """
    command = [str(find_binary(_PROGRAM))]
    if cores:
        command += ["--cores", format_cpu_list(cores)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise TautError(f"{_PROGRAM}: no answer in {_TIMEOUT_S} s; run it by hand") from None
    document = read_object(ended.stdout)
    if document is None or ended.returncode:
        said = last_words(_PROGRAM, ended.returncode, ended.stderr)
        raise TautError(f"{_PROGRAM}: no whole answer ({said}); run {' '.join(command)}")
    return parse(ClockReading, document, _PROGRAM)


def read_both_clocks() -> tuple[int, int]:
    """Read the TSC and CLOCK_MONOTONIC_RAW, in ns, of the same moment."""
    command = [str(find_binary(_PROGRAM)), "--answer"]
    ended = subprocess.run(command, input="\n", capture_output=True, text=True, check=False)
    found = read_object(ended.stdout) or {}
    tsc, mono_raw_ns = found.get("tsc"), found.get("mono_raw_ns")
    if not isinstance(tsc, int) or not isinstance(mono_raw_ns, int):
        raise TautError(f"{_PROGRAM}: no reading of both clocks; run {' '.join(command)}")
    return tsc, mono_raw_ns
