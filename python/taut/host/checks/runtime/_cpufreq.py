"""Frequency policies: each sets the clock of one or more cores."""

from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.check import Finding, not_applicable, unknown
from taut.host.host import Host
from taut.host.situation import Role, Situation

ROLES = frozenset({Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST, Role.CONTAINER})
"""Guests and containers are judged by what they see; only the host can change it."""

_POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"


@dataclass(frozen=True)
class Policy:
    """One folder of cpufreq."""

    path: str
    cores: CpuSet


def policies(host: Host, situation: Situation) -> list[Policy]:
    """Those of the polling cores; all where nobody named any."""
    found = []
    for path in host.paths(_POLICIES):
        words = (host.read(f"{path}/affected_cpus") or "").split()
        cores = tuple(int(word) for word in words if word.isdecimal())
        wanted = set(situation.cores or situation.online)
        if wanted & set(cores):
            found.append(Policy(path, cores))
    return found


def absent(host: Host, situation: Situation, what: str, wanted: str) -> Finding:
    """No policy: the host of a guest has one, a bare machine leaves the clock to the firmware."""
    if host.paths(_POLICIES):
        observed = f"{what}: no policy of these cores"
        return unknown(observed, "a kernel whose format taut knows", wanted)
    if situation.machine.hypervisor or situation.role in (Role.KVM_GUEST, Role.CONTAINER):
        return unknown(f"{what}: not visible in here", "run on the host", wanted)
    return not_applicable("no cpufreq driver: the firmware sets the clock")
