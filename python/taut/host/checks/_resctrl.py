"""Ways and bandwidth for the poll cores, where resctrl is mounted and nobody has made groups."""

from collections.abc import Iterable, Mapping

from taut.core.cpus import format_cpu_list
from taut.host.check import Remedy
from taut.host.setting import Change
from taut.host.settings.resctrl import (
    RESCTRL,
    ResctrlGroup,
    ResctrlSchemata,
    read_schemata,
    spell_schemata,
)
from taut.host.table import EXTREME, now
from taut.host.view import CPU, View

GROUP = "taut"
"""The group of the poll cores."""

_NEIGHBOURS_PERCENT = 50
"""What of the bandwidth is left to the neighbours."""


def group_poll_cores(see: View) -> Iterable[Remedy]:
    """Give poll cores half of the L3's ways, and the neighbours half of the bandwidth."""
    default = read_schemata(see.host.read(f"{RESCTRL}/schemata") or "")
    ways = default.get("L3", {})
    if ways and (split := _split(see)) is not None:
        poll, rest = split
        caches = [at for at in _caches(see) if at in ways] or list(ways)
        yield now(
            f"group {GROUP}: cores {format_cpu_list(see.cores)} get ways {poll:x} of the L3 for "
            "themselves",
            *_grouped(see, "L3", dict.fromkeys(caches, f"{poll:x}")),
            Change(ResctrlSchemata(), _line("L3", dict.fromkeys(caches, f"{rest:x}"))),
            profile=EXTREME,
            cost="fewer ways for everything else",
        )
    bandwidth = default.get("MB", {})
    if bandwidth and set(bandwidth.values()) == {"100"}:
        least = see.number(f"{RESCTRL}/info/MB/min_bandwidth") or 0
        step = see.number(f"{RESCTRL}/info/MB/bandwidth_gran") or 1
        percent = max(least, -(-_NEIGHBOURS_PERCENT // step) * step)
        yield now(
            f"group {GROUP}: everything but cores {format_cpu_list(see.cores)} gets {percent} % of "
            "the memory bandwidth",
            *_grouped(see, "MB", bandwidth),
            Change(ResctrlSchemata(), _line("MB", dict.fromkeys(bandwidth, str(percent)))),
            id="now-2",
            profile=EXTREME,
            cost="programs that stream through memory take longer",
            after=("R25-now",),
        )


def _grouped(see: View, resource: str, values: Mapping[str, str]) -> tuple[Change, ...]:
    value = f"{format_cpu_list(see.cores)}\n{_line(resource, values)}"
    return (Change(ResctrlGroup(GROUP), value),)


def _line(resource: str, values: Mapping[str, str]) -> str:
    return spell_schemata({resource: values})


def _caches(see: View) -> list[str]:
    """Number the caches of the poll cores."""
    numbers = (see.number(f"{CPU}/cpu{core}/cache/index3/id") for core in see.cores)
    return sorted({str(number) for number in numbers if number is not None})


def _split(see: View) -> tuple[int, int] | None:
    """Give the poll cores' ways and the others'; None: there are too few to share.

    Masks are contiguous (Intel wants that). Devices fill the upper ways on most processors: the
    poll cores get the lower half of those below.
    """
    whole = _hexadecimal(see.host.read(f"{RESCTRL}/info/L3/cbm_mask"))
    shared = _hexadecimal(see.host.read(f"{RESCTRL}/info/L3/shareable_bits"))
    least = see.number(f"{RESCTRL}/info/L3/min_cbm_bits") or 1
    n_ways = whole.bit_length()
    below = n_ways if not shared else (shared & -shared).bit_length() - 1
    n_poll = max(least, below // 2)
    if n_poll > below or n_ways - n_poll < max(least, 1):
        return None
    poll = (1 << n_poll) - 1
    return poll, whole & ~poll


def _hexadecimal(text: str | None) -> int:
    try:
        return int(text or "0", 16)
    except ValueError:
        return 0
