"""Lists of cores as kernel parameters take them (bitmap_parselist): `1-7:1/2`, `8-N`, `all`.

Wider than core/cpus.py, which reads what the kernel prints.
"""

import re

from taut.core.cpus import CpuSet

ASSUMED_CORES = 4096
"""Where nobody said how many cores there are: no machine has more, so `all` and `N` are far up."""

_NUMBER = r"(\d+|N)"
_REGION = re.compile(rf"{_NUMBER}(?:-{_NUMBER}(?::(\d+)/(\d+))?)?")
_ALL = re.compile(r"all(?::(\d+)/(\d+))?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]+")
# The kernel's own limit (NR_CPUS) is 8192 at most; larger numbers would only cost memory here.
_LARGEST = 8192


def parse_kernel_cpu_list(text: str, n_cores: int = ASSUMED_CORES) -> CpuSet:
    """Give the cores; ValueError says what the kernel would refuse."""
    regions = [region for region in _SEPARATOR.split(text) if region]
    if not regions:
        raise ValueError("names no core")
    cores: set[int] = set()
    for region in regions:
        cores.update(_region(region, max(1, n_cores) - 1))
    return tuple(sorted(cores))


def _region(text: str, last_core: int) -> list[int]:
    everything = _ALL.fullmatch(text)
    if everything:
        return _groups(text, 0, last_core, *everything.groups())
    found = _REGION.fullmatch(text)
    if not found:
        raise ValueError(_why_not(text))
    first, last, used, group = found.groups()
    begin = _core(first, last_core)
    end = begin if last is None else _core(last, last_core)
    if begin > end:
        raise ValueError(f"{text!r} runs backwards")
    return _groups(text, begin, end, used, group)


def _groups(text: str, first: int, last: int, used: str | None, group: str | None) -> list[int]:
    """Give the first `used` of every `group` cores from `first` to `last`."""
    if used is None or group is None:
        return list(range(first, last + 1))
    n_used, n_group = _bounded(used), _bounded(group)
    if n_used == 0 or n_group == 0 or n_used > n_group:
        raise ValueError(f"{text!r}: a group USED/SIZE needs 0 < USED <= SIZE")
    return [core for core in range(first, last + 1) if (core - first) % n_group < n_used]


def _core(text: str, last_core: int) -> int:
    return last_core if text == "N" else _bounded(text)


def _bounded(digits: str) -> int:
    # int() refuses thousands of digits; no number we accept has more than four.
    value = int(digits) if len(digits.lstrip("0")) <= 5 else _LARGEST + 1
    if value > _LARGEST:
        raise ValueError(f"{digits[:20]!r} is beyond any kernel's number of cores")
    return value


def _why_not(text: str) -> str:
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return f"{text!r} is a mask, and a list like 2-7 is wanted"
    return f"{text[:40]!r} is no core; a list like 2-7 is wanted"
