"""R20: how often each core polls its machine check banks."""

from collections.abc import Sequence

from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

# One value for all cores, shown in every core's folder.
_FOLDER = "/sys/devices/system/machinecheck/machinecheck0"
_INTERVAL = f"{_FOLDER}/check_interval"
_IGNORE = f"{_FOLDER}/ignore_ce"
_WANTED = "check_interval 0, or ignore_ce 1"


class MachineCheckPolling(Check):
    """Uncorrected errors are reported in any case."""

    id = "R20"
    title = "machine check polling"
    fault = "Every core polls for machine checks"
    severity = Severity.MINOR
    why = (
        "a timer on every core, each five minutes by default, reads all banks: some microseconds; "
        "after a corrected error the kernel polls up to a hundred times a second"
    )
    source = "arch/x86/x86_64/machinecheck.rst; tuned realtime"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Either switch is enough."""
        if situation.role not in (Role.POLL_CORE, Role.KVM_HOST):
            return not_applicable(f"not asked of a {situation.role}")
        interval, ignore = host.read(_INTERVAL), host.read(_IGNORE)
        if interval is None:
            return unreadable(host, _INTERVAL, _WANTED)
        seconds = host.number(_INTERVAL)
        if seconds is None:
            return unknown(
                f"{_INTERVAL}: {interval[:60]!r}", "a kernel whose format taut knows", _WANTED
            )
        observed = f"check_interval {seconds} s, ignore_ce {ignore or 'not there'}"
        is_good = seconds == 0 or ignore == "1"
        return passed(observed, _WANTED) if is_good else failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Stop the timer; interrupts still tell of corrected errors (CMCI)."""
        cost = "corrected errors that raise no interrupt are seen late or not at all"
        risk = "a failing memory module is noticed late; an agent (rasdaemon) may set it again"
        return (
            Remedy(
                "R20-now",
                "stop polling for machine checks",
                changes=(Change(FileSetting(_INTERVAL, "number"), "0"),),
                profile=Profile.EXTREME,
                risk=risk,
                cost=cost,
            ),
            Remedy(
                "R20-boot",
                "at boot: stop polling for machine checks",
                boot=(SysfsValue(_INTERVAL, "0"),),
                profile=Profile.EXTREME,
                risk=risk,
                cost=cost,
            ),
        )


CHECK = MachineCheckPolling()
