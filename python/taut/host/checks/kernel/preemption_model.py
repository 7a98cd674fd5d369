"""K03: the preemption model."""

from taut.host.check import Finding, Severity, passed, unknown, unreadable
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck
from taut.host.host import Host
from taut.host.situation import Role, Situation

_VERSION = "/proc/sys/kernel/version"
_MODE = "/sys/kernel/debug/sched/preempt"


class PreemptionModel(RoleCheck):
    """Any will do for a poller; only guests that run PREEMPT_RT want it below as well."""

    id = "K03"
    title = "preemption model"
    severity = Severity.NOTE
    why = (
        "PREEMPT_RT shortens the worst wake-up, not the gaps of a core that polls, and adds a "
        "thread per interrupt; without it and with nohz_full tails were a third to a fifth"
    )
    source = "Ducked Tails (2021); kernel-parameters.txt (preempt=)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Name it."""
        version = host.read(_VERSION)
        if version is None:
            return unreadable(host, _VERSION, "any")
        model = _model(host, version)
        is_realtime = situation.machine.is_realtime or "PREEMPT_RT" in version
        if situation.role is Role.KVM_HOST and not is_realtime:
            needs = "what the guests run: uname -v in each"
            return unknown(model, needs, "PREEMPT_RT where a guest runs it")
        if situation.role is Role.KVM_GUEST and is_realtime:
            needs = "what the host runs: uname -v there"
            return unknown(model, needs, "PREEMPT_RT on the host too")
        return passed(model, "any")


def _model(host: Host, version: str) -> str:
    model = next((word for word in version.split() if word.startswith("PREEMPT")), "no preemption")
    if "DYNAMIC" not in version:
        return model
    asked = _command_line.value(host, "preempt")
    mode = host.read(_MODE) or (f"asked for: {asked}" if asked else "mode not visible")
    return f"{model} ({mode})"


CHECK = PreemptionModel()
