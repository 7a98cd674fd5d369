"""R01: a daemon that moves interrupts around."""

from collections.abc import Iterable, Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import UnitState
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.runtime._cores import (
    cores_of_list,
    cores_of_mask,
    isolated_at_boot,
    verdict,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_UNIT = "irqbalance.service"
_FILES = ("/etc/default/irqbalance", "/etc/sysconfig/irqbalance")  # Debian, Red Hat


class Irqbalance(Check):
    """Wrong where it runs and may use a polling core."""

    id = "R01"
    title = "irqbalance"
    fault = "irqbalance moves interrupts onto poll cores"
    severity = Severity.MAJOR
    why = "it moves interrupts onto polling cores, also those moved away, within ten seconds"
    source = "Intel NFV-I host configuration; tuned; OpenShift node tuning operator"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Find the daemon, then the cores it leaves alone."""
        if situation.role is Role.HOUSEKEEPING:
            return not_applicable(f"not asked of a {situation.role}")
        wanted = "not running, or the polling cores banned"
        processes = _processes(host)
        if not processes and not _is_active(host):
            if situation.role is Role.CONTAINER:
                return unknown("irqbalance: not seen in here", "run on the host", wanted)
            return passed("irqbalance does not run", wanted)
        banned, said = _banned(host, processes)
        if banned is None:
            return unknown(f"irqbalance runs, {said}", "a ban list taut can read", wanted)
        free = tuple(core for core in situation.online if core not in banned)
        return verdict(free, situation, f"irqbalance runs, {said}", wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Stop it; or by hand, keep it and ban the cores."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "stop irqbalance or ban the polling cores"),)
        remedies = []
        if _is_active(host):
            remedies = [
                Remedy(
                    "R01-now",
                    "stop irqbalance",
                    changes=(Change(SystemdUnit(_UNIT), "inactive"),),
                    profile=Profile.MINIMAL,
                    cost="interrupts of the housekeeping cores are no longer balanced",
                ),
                Remedy(
                    "R01-boot",
                    "at boot: no irqbalance",
                    boot=(UnitState(_UNIT, False),),
                    profile=Profile.MINIMAL,
                ),
            ]
        cores = format_cpu_list(situation.cores) or "LIST"
        remedies.append(
            Remedy(
                "R01-by-hand",
                "or keep it and ban the polling cores",
                by_hand=f"IRQBALANCE_BANNED_CPULIST={cores} in /etc/default/irqbalance or "
                "/etc/sysconfig/irqbalance, then restart irqbalance",
            )
        )
        return tuple(remedies)


def _is_active(host: Host) -> bool:
    return host.command("systemctl", "is-active", _UNIT) == "active"


def _processes(host: Host) -> list[str]:
    """Also one that no unit started."""
    paths = host.paths("/proc/[0-9]*/comm")
    return [path.split("/")[2] for path in paths if host.read(path) == "irqbalance"]


def _banned(host: Host, processes: Sequence[str]) -> tuple[CpuSet | None, str]:
    """Give the cores it leaves alone, in its own order of precedence; None: unreadable."""
    environment = _environment(host, processes)
    mask = environment.get("IRQBALANCE_BANNED_CPUS")
    if mask:
        return cores_of_mask(mask), f"IRQBALANCE_BANNED_CPUS={mask[:60]}"
    cores = environment.get("IRQBALANCE_BANNED_CPULIST")
    if cores:
        return cores_of_list(cores), f"IRQBALANCE_BANNED_CPULIST={cores[:60]}"
    isolated = isolated_at_boot(host)
    if isolated:
        return isolated, f"leaves alone isolcpus and nohz_full: {format_cpu_list(isolated)}"
    return (), "no core banned"


def _environment(host: Host, processes: Sequence[str]) -> dict[str, str]:
    """Give what the daemon was started with; without the right to see it, its configuration."""
    for process in processes:
        text = host.read(f"/proc/{process}/environ")
        if text is not None:
            return _assignments(text.split("\0"))
    lines = [line for path in _FILES for line in (host.read(path) or "").splitlines()]
    return _assignments(line.strip().removeprefix("export ") for line in lines)


def _assignments(lines: Iterable[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {name: value.strip().strip("\"'") for name, equals, value in pairs if equals}


CHECK = Irqbalance()
