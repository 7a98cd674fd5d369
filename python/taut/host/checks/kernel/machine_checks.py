"""K18: polling for corrected errors."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, at_boot, by_hand
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

_FOLDER = "/sys/devices/system/machinecheck/machinecheck0"
_WANTED = "corrected errors are not polled for (ignore_ce=1 or check_interval=0); never mce=off"


class MachineChecks(RoleCheck):
    """mce=off is no remedy: it turns uncorrected errors into silent corruption."""

    id = "K18"
    title = "no polling for corrected errors"
    fault = "Every core polls for corrected errors"
    severity = Severity.MINOR
    why = (
        "a timer on every core looks for corrected memory errors every five minutes; with mce=off, "
        "as some guides have it, uncorrected errors corrupt data unnoticed"
    )
    source = "x86 boot-options.rst (mce=); Ducked Tails (2021); tuned; Intel NFV-I and NTO say off"
    roles = frozenset({Role.POLL_CORE, Role.KVM_HOST})

    def judge(self, host: Host, situation: Situation) -> Finding:
        """The values are the same for all cores."""
        if not situation.machine.is_x86:
            return not_applicable("machine checks are x86's")
        if "off" in (parameter.value for parameter in _command_line.find(host, "mce")):
            return failed("mce=off", _WANTED, fault="Uncorrected errors go unnoticed")
        if not host.is_there(_FOLDER):
            return not_applicable(f"no {_FOLDER} on this kernel")
        ignore, interval = (
            host.number(f"{_FOLDER}/{name}") for name in ("ignore_ce", "check_interval")
        )
        if ignore is None or interval is None:
            needs = f"numbers in {_FOLDER}/ignore_ce and check_interval"
            return unknown(f"ignore_ce {ignore}, check_interval {interval}", needs, _WANTED)
        observed = f"ignore_ce={ignore}, check_interval={interval}"
        is_good = ignore == 1 or interval == 0
        return passed(observed, _WANTED) if is_good else failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Stop the timer now; at boot ignore corrected errors."""
        if "off" in (parameter.value for parameter in _command_line.find(host, "mce")):
            what = "remove mce=off from the kernel's command line; mce=ignore_ce is what was meant"
            return (by_hand(self.id, "take mce=off back", what),)
        change = Change(FileSetting(f"{_FOLDER}/check_interval", "number"), "0")
        risk = "a failing memory module is not noticed before it fails"
        cost = "corrected errors that raise no interrupt are not counted (rasdaemon, EDAC)"
        return (
            Remedy(
                "K18-now",
                "do not poll for corrected errors",
                changes=(change,),
                profile=Profile.EXTREME,
                risk=risk,
                cost=cost,
            ),
            at_boot(
                self.id,
                "ignore corrected errors",
                KernelParameter("mce", "ignore_ce"),
                profile=Profile.EXTREME,
                risk=risk,
                cost=cost,
                measure="the kernel's documentation does not recommend it; tuned does it",
            ),
        )


CHECK = MachineChecks()
