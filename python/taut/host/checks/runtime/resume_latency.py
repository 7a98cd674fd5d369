"""R19: the longest wake-up one core may take."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    not_applicable,
    unknown,
    unreadable,
)
from taut.host.checks.runtime._cores import verdict
from taut.host.checks.runtime._idle import (
    NO_LIMIT_US,
    core_limit_path,
    core_limit_us,
    deepest,
    global_limit_us,
    idle_states,
    shallow_us,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

_WANTED = "n/a (no latency) or that of C1, on every core that polls"


class ResumeLatency(Check):
    """A limit that is held for all cores (R18) serves as well."""

    id = "R19"
    title = "wake-up latency of poll cores"
    fault = "Poll cores may sleep deeply"
    severity = Severity.MAJOR
    why = (
        "a core that idles in a deep state takes 100 µs and more to wake up; this limit costs "
        "power on the poll cores alone, and needs no process that holds it"
    )
    source = "admin-guide/pm/cpuidle.rst; tuned plugin_cpu (pm_qos_resume_latency_us)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the limits with the states there are."""
        if situation.role not in (Role.POLL_CORE, Role.KVM_HOST):
            return not_applicable(f"not asked of a {situation.role}")
        cores = situation.cores or situation.online
        if not any(idle_states(host, core) for core in cores):
            return not_applicable("no idle states (cpuidle): nothing to limit")
        held_us = global_limit_us(host)
        bad, observed = [], []
        for core in cores:
            own_us = core_limit_us(host, core)
            if own_us is None:
                return _unseen(host, core)
            limit_us = min(own_us, NO_LIMIT_US if held_us is None else held_us)
            state = deepest(host, core, limit_us)
            if state is not None:
                bad.append(core)
                observed.append(f"core {core}: {state.name} ({state.latency_us} µs) is open")
        good = f"no state deeper than C1 is open on {format_cpu_list(cores)}"
        return verdict(bad, situation, "; ".join(observed) or good, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Allow C1, on the poll cores."""
        values = {
            core_limit_path(core): str(shallow_us(idle_states(host, core)))
            for core in situation.cores
        }
        if not values:
            return ()
        summary = f"let cores {format_cpu_list(situation.cores)} sleep no deeper than C1"
        cost = "power on these cores"
        risk = "one value for all who ask: another program may overwrite it"
        return (
            Remedy(
                "R19-now",
                summary,
                changes=[Change(FileSetting(path), value) for path, value in values.items()],
                risk=risk,
                cost=cost,
            ),
            Remedy(
                "R19-boot",
                f"at boot: {summary}",
                boot=[SysfsValue(path, value) for path, value in values.items()],
                risk=risk,
                cost=cost,
            ),
        )


def _unseen(host: Host, core: int) -> Finding:
    path = core_limit_path(core)
    text = host.read(path)
    if text is None:
        return unreadable(host, path, _WANTED)
    return unknown(f"{path}: {text[:60]!r}", "a kernel whose format taut knows", _WANTED)


CHECK = ResumeLatency()
