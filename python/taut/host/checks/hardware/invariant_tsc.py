"""HW01: a time stamp counter that always counts at one rate, and a timer that counts by it."""

from collections.abc import Sequence

from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Rollback,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.checks.hardware._shape import is_guest
from taut.host.host import Host
from taut.host.situation import Role, Situation

_CPUINFO = "/proc/cpuinfo"
_AVAILABLE = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
_ARM = "arch_sys_counter"


class _InvariantTsc(Check):
    id = "HW01"
    title = "invariant time stamp counter"
    fault = "The time stamp counter is not invariant"
    severity = Severity.CRITICAL
    why = (
        "every time stamp is a TSC reading: a counter that stops or changes its rate makes all "
        "numbers wrong, and nohz_full keeps its tick without a stable clock"
    )
    source = "Intel NFV-I host configuration (2018); cpu-isolation.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for the flags."""
        if situation.machine.vendor == "arm":
            return _inspect_arm(host)
        flags = (host.fields(_CPUINFO).get("flags") or "").split()
        wanted = _wanted(situation)
        words = " ".join(wanted)
        # Of a real list; an odd file is not a processor without flags.
        if "tsc" not in flags and "fpu" not in flags:
            return unknown(f"{_CPUINFO} names no flags", "a kernel that lists them", words)
        absent = [flag for flag in wanted if flag not in flags]
        if absent:
            return failed(f"absent: {' '.join(absent)}", words)
        return passed(f"present: {words}", words)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """A guest's host hides it; a machine that has none keeps none."""
        if is_guest(situation):
            what = (
                "on the KVM host: give the guest the processor flag invtsc and a fixed TSC rate "
                "(QEMU: -cpu host,+invtsc,tsc-frequency=HZ; libvirt: <feature policy='require' "
                "name='invtsc'/> and <timer name='tsc' frequency='HZ'/>)"
            )
            cost = "the guest can only migrate to a host of the same TSC rate"
        else:
            what, cost = "measure on a machine with an invariant TSC", ""
        return (
            Remedy(
                "HW01-by-hand",
                "show the guest an invariant TSC" if is_guest(situation) else "change the machine",
                by_hand=what,
                cost=cost,
                rollback=Rollback.REBOOT,
            ),
        )


def _wanted(situation: Situation) -> list[str]:
    wanted = ["constant_tsc", "nonstop_tsc"]
    # AMD's own processors have no such timer; KVM gives it to every guest.
    if situation.machine.vendor != "amd" or is_guest(situation):
        wanted.append("tsc_deadline_timer")
    if situation.role is Role.KVM_GUEST:
        wanted.append("tsc_known_freq")
    return wanted


def _inspect_arm(host: Host) -> Finding:
    available = host.read(_AVAILABLE)
    if not available:
        return unknown(f"no {_AVAILABLE}", "a mounted /sys", _ARM)
    if _ARM in available.split():
        return passed(f"clocksource {_ARM}", _ARM)
    return failed(f"clocksources: {available}", _ARM)


CHECK = _InvariantTsc()
