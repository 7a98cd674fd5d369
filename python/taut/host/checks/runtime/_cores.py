"""What checks of this group share: sets of cores, and a verdict where nobody may have named any."""

from collections.abc import Collection

from taut.core.cpus import CpuSet, parse_cpu_list, parse_cpu_mask
from taut.core.errors import InputError
from taut.host.check import Finding, failed, passed, unknown
from taut.host.host import Host
from taut.host.situation import Situation

NAME_CORES = "name the poll cores with --cores"

_MOST_DIGITS = 6
"""Of a core's number: a longer one is no core, and its range would fill the memory."""


def cores_of_list(text: str | None) -> CpuSet | None:
    """Give the cores of a list; None when it is none."""
    if text is None or any(len(part) > _MOST_DIGITS for part in text.replace("-", ",").split(",")):
        return None
    try:
        return parse_cpu_list(text)
    except (InputError, ValueError):
        return None


def cores_of_mask(text: str | None) -> CpuSet | None:
    """Give the cores of a mask; None when it is none."""
    try:
        return parse_cpu_mask(text) if text else None
    except ValueError:
        return None


def isolated_at_boot(host: Host) -> CpuSet:
    """Cores of isolcpus and nohz_full together."""
    paths = ("/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full")
    found = {core for path in paths for core in cores_of_list(host.read(path)) or ()}
    return tuple(sorted(found))


def verdict(bad: Collection[int], situation: Situation, observed: str, wanted: str) -> Finding:
    """Judge the poll cores; where nobody named them, what would hold for whichever they are."""
    if situation.cores:
        hit = tuple(core for core in situation.cores if core in bad)
        return failed(observed, wanted, hit) if hit else passed(observed, wanted, situation.cores)
    if not bad:
        return passed(observed, wanted)
    if situation.online and set(situation.online) <= set(bad):
        return failed(observed, wanted)
    return unknown(observed, NAME_CORES, wanted)
