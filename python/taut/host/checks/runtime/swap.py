"""R15: whether memory of the poller may be written to disk."""

from collections.abc import Sequence

from taut.host.boot.item import Sysctl
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.settings.swap import SwapArea, too_little_memory, used_kb
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_SWAPS = "/proc/swaps"
_SWAPPINESS = "/proc/sys/vm/swappiness"
_ZSWAP = "/sys/module/zswap/parameters/enabled"
_LIMIT = "/sys/fs/cgroup/memory.swap.max"
_MOST = 10


class Swap(Check):
    """Without swap nothing else counts; with it, locked pollers and a reluctant kernel do."""

    id = "R15"
    title = "swap"
    fault = "Swap is on"
    severity = Severity.CRITICAL
    why = "a page that comes back from disk stalls whoever touches it for milliseconds"
    source = "tuned; cpu-isolation.rst; rigtorp.se low latency guide"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Areas in use, then memory locks and swappiness."""
        wanted = "no swap, or every poller's memory locked and swappiness at most 10"
        text = host.read(_SWAPS)
        if text is None:
            return unreadable(host, _SWAPS, wanted)
        if not text.startswith("Filename"):
            needs = "a kernel whose format taut knows"
            return unknown(f"{_SWAPS}: {text[:60]!r}", needs, wanted)
        areas = _areas(host)
        if not areas:
            return passed("no swap", wanted)
        observed = f"swap on {', '.join(areas)}"
        used_mb = used_kb(host, areas) // 1024
        if used_mb:
            observed += f" ({used_mb} MB of it in use)"
        if situation.role is Role.CONTAINER and host.read(_LIMIT) == "0":
            return passed(f"{observed}, {_LIMIT} = 0", wanted)
        swappiness = host.number(_SWAPPINESS)
        observed += f", swappiness {'unreadable' if swappiness is None else swappiness}"
        if host.read(_ZSWAP) == "Y":
            observed += ", zswap before it"
        loose = [process for process in situation.processes if not _is_locked(host, process)]
        if loose:
            observed += f", not locked: process {', '.join(map(str, loose))}"
        is_good = bool(situation.processes) and not loose
        if is_good and swappiness is not None and swappiness <= _MOST:
            return passed(f"{observed}, all pollers locked", wanted)
        return failed(observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch it off; keep the kernel from using what somebody switches on again."""
        areas = _areas(host)
        shortage = too_little_memory(host, areas)
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "swapoff, or memory.swap.max 0 for this container"),)
        boot = Sysctl("vm.swappiness", str(_MOST))
        remedies = []
        cost = "the cache of files shrinks before idle memory is swapped out"
        if areas and not shortage:
            remedies.append(
                Remedy(
                    "R15-now",
                    f"switch off swap on {', '.join(areas)}",
                    changes=[Change(SwapArea(path), "off") for path in areas],
                    # The setting asks once more right before: not all memory is ours to fill.
                    profile=Profile.EXTREME,
                    risk="the kernel kills processes when memory runs out",
                )
            )
        if (host.number(_SWAPPINESS) or 0) > _MOST:
            change = Change(FileSetting(_SWAPPINESS, "number"), str(_MOST))
            remedies.append(
                Remedy("R15-now-2", f"swappiness {_MOST}", changes=(change,), cost=cost)
            )
        return (
            *remedies,
            Remedy("R15-boot", f"at boot: swappiness {_MOST}", boot=(boot,), cost=cost),
            Remedy(
                "R15-by-hand",
                "no swap at boot",
                by_hand=(f"swapoff has no room now ({shortage}); " if shortage else "")
                + "take the swap lines out of /etc/fstab, or lock the poller's memory: "
                "mlockall(MCL_CURRENT | MCL_FUTURE)",
            ),
        )


def _areas(host: Host) -> list[str]:
    """Give their paths; blanks show as octal escapes there."""
    lines = (host.read(_SWAPS) or "").splitlines()[1:]
    return [line.split()[0].replace("\\040", " ") for line in lines if line.split()]


def _is_locked(host: Host, process: int) -> bool:
    """All that is in memory is locked; huge pages are in neither number."""
    fields = host.fields(f"/proc/{process}/status")
    locked_kb, resident_kb = (_kb(fields.get(name)) for name in ("VmLck", "VmRSS"))
    if locked_kb is None or resident_kb is None:
        return not host.is_there(f"/proc/{process}/status")
    return locked_kb >= resident_kb


def _kb(text: str | None) -> int | None:
    number = (text or "").partition(" ")[0]
    return int(number) if number.isdecimal() else None


CHECK = Swap()
