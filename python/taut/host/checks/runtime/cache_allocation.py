"""R25: whether poll cores have ways of the last-level cache to themselves (resctrl)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Rollback,
    Severity,
    failed,
    not_applicable,
    unknown,
)
from taut.host.checks.runtime._cores import cores_of_list, verdict
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_RESCTRL = "/sys/fs/resctrl"
_NO_GROUPS = ("info", "mon_groups", "mon_data")
_WANTED = "ways of the L3 that no other group and no device may fill"


@dataclass(frozen=True)
class _Group:
    """A group of resctrl; "" is the default one, of all that is in no other."""

    name: str
    cores: CpuSet
    ways: dict[int, int]
    """Bitmap of ways by cache."""


class CacheAllocation(Check):
    """Judges the L3 of each core; memory bandwidth is left to whoever knows the neighbours."""

    id = "R25"
    title = "cache allocation"
    fault = "Neighbours share the poller's cache"
    severity = Severity.MAJOR
    why = (
        "neighbours and devices (DDIO) evict the poller's tables: each miss costs about 100 ns, a "
        "burst of them tens of microseconds"
    )
    source = "Gallenmueller et al., Ducked Tails (2021); filesystems/resctrl.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the ways of each core's group with those of all others."""
        if situation.role is Role.HOUSEKEEPING:
            return not_applicable("not asked of a housekeeping machine: poll cores have theirs")
        if not host.is_there(f"{_RESCTRL}/schemata"):
            return _without(situation)
        groups = list(_groups(host))
        if not groups:
            return unknown(
                f"{_RESCTRL}: schemata without L3 ways, or not readable",
                "run as root, on a kernel and processor with L3 allocation",
                _WANTED,
            )
        shareable = _hexadecimal(host.read(f"{_RESCTRL}/info/L3/shareable_bits")) or 0
        cores = situation.cores or situation.online
        wrong = {core: _wrong(host, core, groups, shareable) for core in cores}
        observed = "; ".join(f"core {core}: {what}" for core, what in wrong.items() if what)
        bad = [core for core, what in wrong.items() if what]
        good = f"cores {format_cpu_list(cores)} have ways of their own"
        return verdict(bad, situation, observed or good, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Say what to type: mounting resctrl and sizing groups is for who knows the neighbours."""
        cores = format_cpu_list(situation.cores) or "CORES"
        steps = (
            f"mount -t resctrl resctrl {_RESCTRL}; mkdir {_RESCTRL}/poll; "
            f"echo {cores} > {_RESCTRL}/poll/cpus_list; write a mask to poll/schemata "
            "(L3:0=...) outside of info/L3/shareable_bits, and the rest to schemata of the "
            "default group"
        )
        if situation.role in (Role.KVM_GUEST, Role.CONTAINER):
            return (on_the_host(self.id, steps),)
        return (
            Remedy(
                "R25-by-hand",
                "give the poll cores ways of the L3",
                by_hand=steps,
                profile=Profile.EXTREME,
                cost="fewer ways for everything else",
                rollback=Rollback.WRITE_BACK,
            ),
        )


def _without(situation: Situation) -> Finding:
    """Nothing is mounted: the processor says whether something could be."""
    if "cat_l3" in situation.machine.flags:
        return failed(
            f"{_RESCTRL} is not mounted: everybody fills every way", _WANTED, situation.cores
        )
    if situation.role is Role.KVM_GUEST or situation.machine.hypervisor:
        return unknown(
            "allocation of the L3 is not visible in a guest", "run on the KVM host", _WANTED
        )
    return not_applicable("the processor has no L3 allocation (cat_l3)")


def _groups(host: Host) -> Iterator[_Group]:
    names = [name for name in host.names(_RESCTRL) if name not in _NO_GROUPS]
    for name in ("", *names):
        folder = f"{_RESCTRL}/{name}" if name else _RESCTRL
        ways = _ways(host.read(f"{folder}/schemata") or "")
        if ways:
            yield _Group(name, cores_of_list(host.read(f"{folder}/cpus_list")) or (), ways)


def _ways(schemata: str) -> dict[int, int]:
    """Read `L3:0=7ff;1=7ff`; with CDP, L3CODE and L3DATA together."""
    found: dict[int, int] = {}
    for line in schemata.splitlines():
        resource, _, domains = line.strip().partition(":")
        for domain in domains.split(";") if resource in ("L3", "L3CODE", "L3DATA") else ():
            cache, _, mask = domain.strip().partition("=")
            bits = _hexadecimal(mask)
            if cache.isdecimal() and bits is not None:
                found[int(cache)] = found.get(int(cache), 0) | bits
    return found


def _wrong(host: Host, core: int, groups: list[_Group], shareable: int) -> str:
    """Say what a core shares; empty: nothing."""
    own = next((group for group in groups if group.name and core in group.cores), None)
    if own is None:
        return "in the default group, with everything else"
    cache = host.number(f"/sys/devices/system/cpu/cpu{core}/cache/index3/id")
    for number in own.ways if cache is None else (cache,):
        ways = own.ways.get(number, 0)
        if ways & shareable:
            return f"ways {ways & shareable:x} of group {own.name} are filled by devices too"
        for other in groups:
            shared = ways & other.ways.get(number, 0)
            if other is not own and shared:
                return f"shares ways {shared:x} with group {other.name or 'default'}"
    return ""


def _hexadecimal(text: str | None) -> int | None:
    try:
        return int(text or "", 16)
    except ValueError:
        return None


CHECK = CacheAllocation()
