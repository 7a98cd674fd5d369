"""K21: ticks of all cores at the same moment, or spread."""

from collections.abc import Sequence

from taut.core.cpus import cores_in
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import CPU, RoleCheck, at_boot
from taut.host.host import Host
from taut.host.situation import Role, Situation

# Below that the locks that ticks take are hardly ever contended.
_MANY_CORES = 8
_WANTED = f"skew_tick=1 where {_MANY_CORES} cores or more tick"


class SkewTick(RoleCheck):
    """Cores without a tick do not care."""

    id = "K21"
    title = "ticks are spread"
    fault = "Ticks of all cores come at once"
    severity = Severity.NOTE
    why = (
        "ticks that come at once on many cores wait for each other's locks of timekeeping and RCU; "
        "spread ticks do not, but wake the package more often"
    )
    source = "kernel-parameters.txt (skew_tick); Ducked Tails (2021); tuned"
    roles = frozenset({Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_HOST})

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Count who ticks."""
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        tickless = set(cores_in(host.read(f"{CPU}/nohz_full")) or ())
        polling = set(situation.cores)
        if situation.role is Role.POLL_CORE and polling and polling <= tickless:
            return not_applicable("no effect: the poll cores do not tick (nohz_full)")
        value = _command_line.value(host, "skew_tick")
        ticking = [core for core in situation.online if core not in tickless]
        observed = f"skew_tick={value or 0}, {len(ticking)} cores tick"
        if value == "1" or len(ticking) < _MANY_CORES:
            return passed(observed, _WANTED)
        return failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Spread them."""
        parameter = KernelParameter("skew_tick", "1")
        return (at_boot(self.id, "spread the ticks", parameter, cost="power"),)


CHECK = SkewTick()
