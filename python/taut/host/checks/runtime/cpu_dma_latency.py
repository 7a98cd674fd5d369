"""R18: the longest wake-up all cores may take, held through /dev/cpu_dma_latency."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Rollback,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks._holders import holders
from taut.host.checks.runtime._idle import (
    LATENCY,
    NO_LIMIT_US,
    core_limit_us,
    deepest,
    global_limit_us,
    idle_states,
    shallow_us,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.held_latency import HeldLatency
from taut.host.situation import Role, Situation
from taut.host.threads import some

_ROLES = (Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_HOST)
_WANTED = "no core enters a state deeper than C1"


class CpuDmaLatency(Check):
    """A core with a limit of its own (R19), or without deep states, needs no holder."""

    id = "R18"
    title = "held wake-up latency"
    fault = "No held latency keeps cores out of deep idle states"
    severity = Severity.MAJOR
    why = (
        "a core that idles in a deep state takes 100 µs and more to wake up; the limit holds for "
        "all cores, and only while somebody keeps the file open"
    )
    source = "admin-guide/pm/cpuidle.rst; tuned latency-performance (force_latency)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for states that the limits in force leave open."""
        if situation.role not in _ROLES:
            return not_applicable(f"not asked of a {situation.role}: the host's idle states count")
        cores = _judged(situation)
        if not any(idle_states(host, core) for core in cores):
            return not_applicable("no idle states (cpuidle): nothing to limit")
        if not _deep(host, cores, NO_LIMIT_US):
            return passed("no state deeper than C1 is open, without a holder", _WANTED)
        limit_us = global_limit_us(host)
        if limit_us is None:
            return _unseen(host)
        held = "no limit" if limit_us >= NO_LIMIT_US else f"{limit_us} µs, held by {_who(host)}"
        deep = _deep(host, cores, limit_us)
        if not deep:
            return passed(f"{LATENCY}: {held}", _WANTED)
        return failed(f"{LATENCY}: {held}; {'; '.join(deep)}", _WANTED, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Hold the latency of C1."""
        cores = _judged(situation)
        limit_us = min(shallow_us(idle_states(host, core)) for core in cores)
        # One core at a time is cheaper where the kernel can (R19).
        is_only_way = situation.role is Role.HOUSEKEEPING or any(
            core_limit_us(host, core) is None for core in cores
        )
        return (
            Remedy(
                "R18-now",
                f"hold a wake-up latency of {limit_us} µs for all cores",
                changes=(Change(HeldLatency(), str(limit_us)),),
                profile=Profile.RECOMMENDED if is_only_way else Profile.EXTREME,
                cost="power and turbo: no core of the machine sleeps deeper than C1",
                rollback=Rollback.CLOSE,
            ),
        )


def _judged(situation: Situation) -> CpuSet:
    if situation.role is Role.HOUSEKEEPING:
        return situation.online
    return situation.cores or situation.online


def _deep(host: Host, cores: CpuSet, limit_us: int) -> list[str]:
    """Name what is open, by state."""
    found: dict[str, list[int]] = {}
    for core in cores:
        own_us = core_limit_us(host, core)
        state = deepest(host, core, limit_us if own_us is None else min(limit_us, own_us))
        if state is not None:
            found.setdefault(f"{state.name} ({state.latency_us} µs)", []).append(core)
    return [f"{state} open on {format_cpu_list(cores)}" for state, cores in found.items()]


def _who(host: Host) -> str:
    found = holders(host, lambda target: target == "cpu_dma_latency")
    return some(found) if found else "a process this user may not look into"


def _unseen(host: Host) -> Finding:
    if host.is_denied(LATENCY):
        return unknown(f"{LATENCY}: permission denied", "run as root", _WANTED)
    if not host.is_there(LATENCY):
        return unknown(f"no {LATENCY}, and deep states are open", "a kernel with PM QoS", _WANTED)
    return unknown(f"{LATENCY}: not four bytes", "a kernel whose format taut knows", _WANTED)


CHECK = CpuDmaLatency()
