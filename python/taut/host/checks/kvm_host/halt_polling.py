"""V06: how long the host polls for a virtual CPU that halted."""

from collections.abc import Sequence
from dataclasses import replace

from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown, unreadable
from taut.host.checks.kvm_host._module import Parameter, at_module_start, written_now
from taut.host.checks.kvm_host._shape import not_a_host
from taut.host.host import Host
from taut.host.situation import Situation

# KVM's own default on x86 (HALT_POLL_NS).
_LEAST_NS = 200_000
_PARAMETER = Parameter("kvm", "halt_poll_ns", (), str(_LEAST_NS))


class HaltPolling(Check):
    """For guests that sleep between packets; one that polls never halts."""

    id = "V06"
    title = "polling for a halted virtual CPU"
    fault = "A halted virtual CPU is not polled for"
    severity = Severity.MAJOR
    why = (
        "without it the host schedules away at every halt of the guest, and a packet's interrupt "
        "pays tens of microseconds to bring the virtual CPU back; a guest that polls never halts"
    )
    source = "halt-polling.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """The kernel's default is enough."""
        if finding := not_a_host(situation):
            return finding
        wanted = f"{_LEAST_NS} ns or more, for guests that halt"
        text = host.read(_PARAMETER.path)
        if text is None:
            return unreadable(host, _PARAMETER.path, wanted)
        if not text.isdecimal():
            needs = "a kernel whose format taut knows"
            return unknown(f"{_PARAMETER.path}: {text[:60]!r}", needs, wanted)
        observed = f"{_PARAMETER.path} = {text}"
        severity = Severity.MAJOR if situation.sleeps else Severity.MINOR
        failure = replace(failed(observed, wanted), severity=severity)
        return passed(observed, wanted) if int(text) >= _LEAST_NS else failure

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Now and at the module's start."""
        cost = "power: the host spins after each halt"
        summary = f"load kvm with halt_poll_ns={_LEAST_NS}"
        boot = at_module_start(self.id, _PARAMETER, summary)
        return (written_now(self.id, _PARAMETER, "number", cost=cost), boot)


CHECK = HaltPolling()
