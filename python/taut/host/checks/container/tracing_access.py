"""C05: whether what explains a gap can be read from in here."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.container._shape import ContainerCheck
from taut.host.host import Host
from taut.host.situation import Situation

_EVENTS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_WANTED = "tracefs and perf events, here or in a program on the host"
# Above it users without rights count nothing but their own user space (perf_event_open(2)).
_MOST_PARANOID = 1
# Bits of capabilities(7) that lift the limit: CAP_SYS_ADMIN, CAP_PERFMON.
_CAPABILITIES = 1 << 21 | 1 << 38


class TracingAccess(ContainerCheck):
    """Nothing here makes a gap; without it gaps stay unexplained."""

    id = "C05"
    title = "access to kernel events"
    fault = "Kernel events cannot be recorded"
    severity = Severity.NOTE
    why = "gaps are explained by the kernel's own events, which most runtimes hide"
    source = "perf_event_open(2); the container runtime's seccomp profile"

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Try what a trace would."""
        status = host.fields("/proc/self/status")
        seccomp, capabilities = status.get("Seccomp"), status.get("CapEff")
        paranoid = host.number(_PARANOID)
        if seccomp is None or capabilities is None or paranoid is None:
            needs = f"readable /proc/self/status and {_PARANOID}"
            return unknown("rights are not told", needs, _WANTED)
        try:
            may_count = bool(int(capabilities, 16) & _CAPABILITIES) or paranoid <= _MOST_PARANOID
        except ValueError:
            return unknown(f"CapEff {capabilities[:30]!r}", "a known kernel", _WANTED)
        has_events = any(host.names(folder) for folder in _EVENTS)
        observed = (
            f"tracefs {'readable' if has_events else 'not here'}, perf_event_paranoid {paranoid}, "
            f"seccomp {'filters' if seccomp == '2' else 'off'}"
        )
        if has_events and may_count:
            return passed(observed, _WANTED)
        return failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Better outside than more rights inside."""
        return (
            Remedy(
                f"{self.id}-by-hand",
                "trace on the host",
                by_hand="on the host: run taut there while the container runs (or a sidecar with"
                " CAP_PERFMON and tracefs mounted)",
                risk="a container that may trace sees the whole machine",
            ),
        )


CHECK = TracingAccess()
