"""G05: how a virtual core waits when it has nothing to do."""

from collections.abc import Sequence
from dataclasses import replace

from taut.host.boot.item import KernelParameter, SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kvm_guest._shape import not_a_guest
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation

_IDLE = "/sys/devices/system/cpu/cpuidle"
_GOVERNOR = f"{_IDLE}/current_governor"
_AVAILABLE = f"{_IDLE}/available_governors"
_DRIVER = f"{_IDLE}/current_driver"
_POLL_NS = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
_POLLED = "200000"
"""The kernel's default, in nanoseconds (Documentation/virt/guest-halt-polling.rst)."""
_WANTED = "haltpoll, which polls before it halts"


class _GuestIdle(Check):
    id = "G05"
    title = "idle in the guest"
    fault = "An idle core leaves to the host at once"
    severity = Severity.MAJOR
    why = (
        "a virtual core that halts leaves to the host and takes tens of microseconds to return: "
        "the kernel's bridge at 10 kpkt/s, p50 23.9 µs, and 8.0 µs once its core polls before it "
        "halts; a core that polls packets never idles, there it does not matter"
    )
    source = "guest-halt-polling.rst; measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look at the governor, and whether it polls at all; who sleeps pays at each packet."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        driver, governor = host.read(_DRIVER), host.read(_GOVERNOR)
        polled_ns = host.number(_POLL_NS)
        observed = f"driver {driver or 'none'}, governor {governor or 'none'}"
        if governor == "haltpoll":
            observed += f", polls {'?' if polled_ns is None else polled_ns} ns"
        if situation.cores and not situation.sleeps:
            return not_applicable(f"poll cores never idle ({observed})")
        if governor is None:
            return unknown(observed, f"a readable {_GOVERNOR}", _WANTED)
        # Where nobody sleeps for packets only what runs beside them waits.
        severity = Severity.MAJOR if situation.sleeps else Severity.MINOR
        failure = replace(failed(observed, _WANTED, situation.cores), severity=severity)
        if governor != "haltpoll":
            return failure
        if polled_ns is None:
            return unknown(observed, f"a readable {_POLL_NS}", _WANTED)
        return passed(observed, _WANTED) if polled_ns > 0 else failure

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Choose the governor where there is one, and let it poll."""
        changes = []
        if "haltpoll" in (host.read(_AVAILABLE) or "").split():
            changes.append(Change(FileSetting(_GOVERNOR), "haltpoll"))
        if (host.number(_POLL_NS) or 0) <= 0 and host.read(_POLL_NS) is not None:
            changes.append(Change(FileSetting(_POLL_NS, "number"), _POLLED))
        cost = "the host's core is busy for up to 200 µs of each idle period"
        boot = Remedy(
            "G05-boot",
            "boot with haltpoll",
            boot=(
                KernelParameter("cpuidle_haltpoll.force", "1"),
                SysfsValue(_POLL_NS, _POLLED),
            ),
            cost=cost,
        )
        if not changes:
            return (boot,)
        return (Remedy("G05-now", "poll before halting", changes=changes, cost=cost), boot)


CHECK = _GuestIdle()
