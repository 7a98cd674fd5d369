"""HW05: programs that make firmware work, and so raise SMIs."""

from collections.abc import Sequence

from taut.host.boot.item import UnitState
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
from taut.host.checks.hardware._shape import is_guest, not_asked
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.situation import Role, Situation

_ROLES = (Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_HOST)
_UNITS = (
    "fwupd-refresh.timer",
    "fwupd.service",
    "smartd.service",
    "ipmievd.service",
    "amsd.service",  # HPE's agent
    "dsm_sa_datamgrd.service",  # Dell's agent
)
_WANTED = "stopped while packets are served"


class _FirmwareDaemons(Check):
    id = "HW05"
    title = "daemons that call firmware"
    fault = "Daemons that call firmware are running"
    severity = Severity.MAJOR
    why = (
        "fwupd-refresh was seen to raise SMIs on all cores, isolated ones too; agents that poll "
        "firmware, disks or the management controller do likewise"
    )
    source = "OpenShift node tuning operator, PR 1591 (2026)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Ask systemd."""
        if is_guest(situation):
            return not_applicable("firmware is the host's: nothing in a guest reaches it")
        if (finding := not_asked(situation, _ROLES)) is not None:
            return finding
        states = {unit: SystemdUnit(unit).read(host) for unit in _UNITS}
        if set(states.values()) == {None}:
            needs = "systemd; without it look for fwupd, smartd and ipmievd among the processes"
            return unknown("systemd does not answer", needs, _WANTED)
        running = [unit for unit, state in states.items() if state == "active"]
        if running:
            return failed(f"active: {' '.join(running)}", _WANTED)
        return passed(f"none active of {' '.join(_UNITS)}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Stop them, and keep them from starting at boot."""
        running = [unit for unit in _UNITS if SystemdUnit(unit).read(host) == "active"]
        if not running:
            return ()
        cost = "no notices of firmware updates, failing disks or hardware events meanwhile"
        return (
            Remedy(
                "HW05-now",
                f"stop {' '.join(running)}",
                changes=[Change(SystemdUnit(unit), "inactive") for unit in running],
                cost=cost,
            ),
            Remedy(
                "HW05-boot",
                f"do not start {' '.join(running)} at boot",
                boot=[UnitState(unit, is_enabled=False) for unit in running],
                cost=cost,
            ),
        )


CHECK = _FirmwareDaemons()
