"""K17: the watchdog of the TSC."""

from collections.abc import Sequence

from taut.core.cpus import cores_in
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
from taut.host.checks.kernel._boot_log import boot_lines
from taut.host.checks.kernel._shape import CPU, RoleCheck, at_boot
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "no watchdog over the TSC: turned off by the kernel itself or by tsc=nowatchdog"
_OFF = ("reliable", "nowatchdog")
# With these the kernel trusts the TSC by itself (arch/x86/kernel/tsc.c).
_TRUSTED = frozenset({"constant_tsc", "nonstop_tsc", "tsc_adjust"})
_STEADY = frozenset({"constant_tsc", "nonstop_tsc"})


class TscWatchdog(RoleCheck):
    """The parameter is needed only where the kernel does not trust the TSC by itself."""

    id = "K17"
    title = "no watchdog over the TSC"
    fault = "A watchdog checks the TSC"
    severity = Severity.MINOR
    why = (
        "a timer that compares the TSC with a slower clock moves from core to core every half "
        "second, poll cores too"
    )
    source = "kernel-parameters.txt (tsc=); arch/x86/kernel/tsc.c; tuned; Intel NFV-I (2018)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Look at the parameter, else at what the kernel decides by."""
        machine = situation.machine
        if not machine.is_x86:
            return not_applicable("only x86 has a TSC")
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        barked = boot_lines(host, "clocksource: timekeeping watchdog")
        if barked:
            return failed(f"boot log: {barked[0][:80]}", _WANTED)
        values = [parameter.value for parameter in _command_line.find(host, "tsc")]
        off = [value for value in values if value in _OFF]
        if off:
            return passed(f"tsc={off[-1]}", _WANTED)
        if "tsc_reliable" in machine.flags:
            return passed("the hypervisor vouches for the TSC (tsc_reliable)", _WANTED)
        if machine.flags >= _TRUSTED and _trusts(host, machine.kernel):
            said = f"kernel {machine.kernel[0]}.{machine.kernel[1]} trusts this TSC by itself"
            return passed(f"{said} (tsc_adjust)", _WANTED)
        return failed("no tsc=nowatchdog, and the kernel does not trust the TSC by itself", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Never for a TSC that is not steady: its time would be wrong unnoticed."""
        if not situation.machine.flags >= _STEADY:
            return ()
        return (
            at_boot(
                self.id,
                "turn the watchdog off, keep the check at boot",
                KernelParameter("tsc", "nowatchdog"),
                profile=Profile.EXTREME,
                risk="a TSC that drifts later is not noticed",
                measure="tsc=reliable drops the check at boot as well: wrong time on a broken TSC",
            ),
        )


def _trusts(host: Host, kernel: tuple[int, int]) -> bool:
    """Since 5.17 on up to two nodes, since 6.3 on up to four; since 6.10 packages are counted.

    A package may be several nodes (sub-NUMA clustering), and stable kernels took over what came
    later: between versions the smaller number is right, for a watchdog costs less than a TSC
    that nobody watches.
    """
    if kernel >= (6, 10):
        return _packages(host) <= 4
    return kernel >= (5, 17) and _nodes(host) <= (4 if kernel >= (6, 3) else 2)


def _nodes(host: Host) -> int:
    return len(cores_in(host.read("/sys/devices/system/node/online")) or ()) or 1


def _packages(host: Host) -> int:
    paths = host.paths(f"{CPU}/cpu*/topology/physical_package_id")
    return len({host.read(path) for path in paths}) or 1


CHECK = TscWatchdog()
