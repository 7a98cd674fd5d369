"""HW02: the clock the kernel reads."""

import re
from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks.hardware._shape import is_guest
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_FOLDER = "/sys/devices/system/clocksource/clocksource0"
_CURRENT = f"{_FOLDER}/current_clocksource"
_AVAILABLE = f"{_FOLDER}/available_clocksource"
# Read in user space as well, a little slower; they follow the TSC of the host.
_TOLERATED = ("kvm-clock", "hyperv_clocksource_tsc_page")
_UNSTABLE = re.compile(
    r"Marking (?:clocksource ')?tsc(?:-early)?'? (?:as )?unstable", re.IGNORECASE
)


class _Clocksource(Check):
    id = "HW02"
    title = "clocksource"
    fault = "The clocksource is slow or unstable"
    severity = Severity.MAJOR
    why = (
        "hpet and acpi_pm cost a system call and a microsecond per reading of the time, and an "
        "unstable TSC forces the tick on; kvm-clock is read in user space, a little slower"
    )
    source = "kernel-parameters.txt; measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look at the current one, and at what the kernel said of the TSC."""
        wanted = _wanted(situation)
        current = host.read(_CURRENT)
        if current is None:
            return unreadable(host, _CURRENT, wanted)
        if not re.fullmatch(r"[A-Za-z][\w-]*", current):
            return unknown(
                f"{_CURRENT}: {current[:60]!r}", "a kernel whose format taut knows", wanted
            )
        complaint = _complaint(host)
        if current == wanted:
            return (
                failed(f"{current}; {complaint}", wanted) if complaint else passed(current, wanted)
            )
        if is_guest(situation) and current in _TOLERATED:
            return passed(f"{current}: tolerated in a guest, slower than {wanted}", wanted)
        return failed(f"{current}; {complaint}" if complaint else current, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Choose it, if the kernel trusts it."""
        wanted = _wanted(situation)
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, f"{_CURRENT}: {wanted}"),)
        if wanted not in (host.read(_AVAILABLE) or "").split() or _complaint(host):
            return (
                Remedy(
                    "HW02-by-hand",
                    "find out why the kernel does not trust the TSC",
                    by_hand="dmesg names the reason (tsc, clocksource); update the firmware; in a "
                    "guest, give it invtsc on the host (HW01). Do not force it with tsc=reliable",
                ),
            )
        risk = "a TSC that is not the same on all cores gives wrong times"
        return (
            Remedy(
                "HW02-now",
                f"choose the clocksource {wanted}",
                changes=(Change(FileSetting(_CURRENT), wanted),),
                risk=risk,
            ),
            Remedy(
                "HW02-boot",
                f"boot with the clocksource {wanted}",
                boot=(KernelParameter("clocksource", wanted),),
                risk=risk,
            ),
        )


def _wanted(situation: Situation) -> str:
    return "arch_sys_counter" if situation.machine.vendor == "arm" else "tsc"


def _complaint(host: Host) -> str:
    """Give the line in which the kernel said that it no longer trusts the TSC."""
    for line in (host.command("dmesg") or "").splitlines():
        if _UNSTABLE.search(line):
            return f"kernel: {line.partition('] ')[2] or line}"
    return ""


CHECK = _Clocksource()
