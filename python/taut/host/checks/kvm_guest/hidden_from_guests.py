"""G08: what a guest cannot see and its tail depends on."""

from taut.host.check import Check, Finding, Severity, unknown
from taut.host.checks.kvm_guest._shape import not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_HIDDEN = (
    "SMIs",
    "C-states of the host's cores",
    "interrupts of the host",
    "SMT siblings",
    "turbo and frequencies",
    "cache allocation",
)


class _HiddenFromGuests(Check):
    id = "G08"
    title = "what only the host shows"
    severity = Severity.NOTE
    why = (
        "all of it reaches the guest as gaps without a cause: a guest is never quieter than the "
        "core it runs on"
    )
    source = "osnoise tracer documentation (interference of a host appears as hardware noise)"

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """List it."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        return unknown(
            f"not visible in a guest: {', '.join(_HIDDEN)}",
            "run taut host audit on the host, with --role kvm-host",
        )


CHECK = _HiddenFromGuests()
