"""Sets of CPU cores, written as the kernel writes them: `0-3,8`."""

import os
import re
from collections.abc import Iterable

from taut.core.errors import InputError

CpuSet = tuple[int, ...]

MAX_CORES = 1024
"""What the data plane can name (CPU_SETSIZE of the C library); kernels can be built for more."""
_KERNEL_CORES = 1 << 16
"""More than any kernel is built for."""
_DIGITS = 5  # int() refuses texts of thousands
_PART = re.compile(r" *([0-9]+) *(?:- *([0-9]+) *)?")
_WORD = re.compile(r"[0-9a-fA-F]{1,8}")


def cpuset_cores() -> CpuSet:
    """Give the cores this thread may move to: its cpuset's, whatever affinity it was started with.

    Those that were isolated at boot are among them, which are in nobody's affinity.

    The kernel cuts what is asked for down to the cpuset (sched_setaffinity(2)), so it is asked for
    everything for a moment. Where that is forbidden (seccomp) the affinity is all that is known.
    """
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(MAX_CORES))
        return tuple(sorted(os.sched_getaffinity(0)))
    except OSError:
        return tuple(sorted(before))
    finally:
        os.sched_setaffinity(0, before)


def parse_cpu_list(text: str) -> CpuSet:
    """Turn `0-3,8` into (0, 1, 2, 3, 8); an empty text is no core.

    InputError where a part of it is no core, runs backwards, or is more than taut can name.
    """
    return _parsed(text, MAX_CORES)


def parse_shown_list(text: str) -> CpuSet:
    """Read a list that the kernel shows, as parse_cpu_list, with as many cores as it may have."""
    return _parsed(text, _KERNEL_CORES)


def _parsed(text: str, most: int) -> CpuSet:
    cores: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(f"cores {text!r}: {part!r} is no core; write a list like 0-3,8")
        first, last = match[1], match[2] or match[1]
        if len(last.lstrip("0")) > _DIGITS or int(last) >= most:
            raise InputError(f"cores {text!r}: taut knows cores up to {most - 1}, not {last}")
        if len(first.lstrip("0")) > _DIGITS or int(last) < int(first):
            raise InputError(f"cores {text!r}: {part!r} runs backwards; write a list like 0-3,8")
        cores.update(range(int(first), int(last) + 1))
    return tuple(sorted(cores))


def cores_in(text: str | None) -> CpuSet | None:
    """Read a list as the kernel shows it (`0-3,8`, `(null)` for no core); None: it is no list."""
    if text is None:
        return None
    if text.strip() in ("", "(null)"):
        return ()
    try:
        return parse_shown_list(text)
    except (InputError, ValueError):
        return None


def format_cpu_list(cores: Iterable[int]) -> str:
    """Write cores as a list with ranges: `0-3,8`."""
    ranges: list[tuple[int, int]] = []
    for core in sorted(set(cores)):
        if ranges and core == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], core)
        else:
            ranges.append((core, core))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def cpu_mask(cores: Iterable[int]) -> str:
    """Write cores as the hexadecimal mask of rps_cpus: 32-bit words, comma separated."""
    mask = sum(1 << core for core in set(cores))
    words: list[str] = []
    while mask or not words:
        words.append(f"{mask & 0xFFFFFFFF:x}" if mask < 1 << 32 else f"{mask & 0xFFFFFFFF:08x}")
        mask >>= 32
    return ",".join(reversed(words))


def parse_cpu_mask(text: str) -> CpuSet:
    """Turn `3,0000ff00` into cores, whatever the number of leading zeros.

    ValueError: no mask to the kernel, which takes words of up to 8 hexadecimal digits, no sign.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(map(_WORD.fullmatch, words)):
        raise ValueError(f"{text!r} is no mask of cores")
    mask = int("".join(word.zfill(8) for word in words), 16)
    return tuple(core for core in range(mask.bit_length()) if mask >> core & 1)
