"""G07: whether the host is itself a guest."""

import re
from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, not_applicable, unknown
from taut.host.checks.kvm_guest._shape import dmesg, not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "a guest of bare metal"
# A parameter such as nested_pvm=1, which those set who nest. kvm_intel.nested= is about guests
# of this one.
_PARAMETER = re.compile(r"(?<![\w.])nested_\w+=[1yY]")
_LOG = re.compile(r"\bnested (host|guest|hypervisor)\b|running nested", re.IGNORECASE)


class _Nested(Check):
    id = "G07"
    title = "nested virtualisation"
    fault = "This guest runs inside another guest"
    severity = Severity.MAJOR
    why = (
        "every exit of a nested guest passes through two hypervisors: about 12 µs per interrupt "
        "instead of 1; all other verdicts are worth less"
    )
    source = "measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for what the kernel was told or found; a well-made nested guest shows nothing."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        if situation.machine.hypervisor is None:
            return not_applicable("the processor names no hypervisor")
        parameter = _PARAMETER.search(host.read("/proc/cmdline") or "")
        line = next((line for line in dmesg(host) if _LOG.search(line)), "")
        signs = [f"kernel: {line}"] if line else []
        if parameter is not None:
            signs.append(f"command line: {parameter[0]}")
        if signs:
            return failed("; ".join(signs), _WANTED)
        return unknown(
            f"hypervisor {situation.machine.hypervisor}; no sign of nesting, which proves nothing",
            "ask who runs the host; or measure: interrupts of 10 µs and more in taut host noise",
            _WANTED,
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Elsewhere."""
        return (
            Remedy(
                "G07-by-hand",
                "run the guest on bare metal",
                by_hand="use a host that is no guest itself; numbers of this one say little about "
                "other machines",
            ),
        )


CHECK = _Nested()
