"""HW04: interrupts that firmware takes for itself on all cores at once."""

from collections.abc import Sequence

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
from taut.host.checks.hardware._shape import hidden, is_guest, not_asked
from taut.host.host import Host
from taut.host.situation import Role, Situation

_WANTED = "none during a test"
_ROLES = (Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST, Role.CONTAINER)
_COMMAND = ("perf", "stat", "-a", "-x,", "-e", "msr/smi/", "sleep", "60")


class _SmiRate(Check):
    """Counts nothing on a live machine: SMIs come minutes apart, and a second proves nothing."""

    id = "HW04"
    title = "system management interrupts"
    fault = "Firmware interrupts the cores (SMI)"
    severity = Severity.CRITICAL
    why = (
        "an SMI stops all cores and nothing can mask it: 10 to 15 µs are usual, more than 100 µs "
        "are bad, 100 ms have been seen"
    )
    source = "Intel NFV-I host configuration (2018); Linux Foundation wiki on SMIs"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge a count somebody took; the audit takes none: counting interrupts every core."""
        if (finding := not_asked(situation, _ROLES)) is not None:
            return finding
        if situation.machine.vendor == "arm":
            return not_applicable("ARM has no SMI; firmware there runs in EL3")
        if is_guest(situation):
            return hidden("SMI counter", _WANTED)
        if situation.role is Role.CONTAINER:
            return unknown(
                "SMI counter: not visible in a container",
                "run taut host audit on the host",
                _WANTED,
            )
        if situation.machine.vendor == "amd":
            needs = (
                "count them before and after a test, never during: perf stat -a -e ls_smi_rx "
                "sleep 60"
            )
            return unknown("SMIs were not counted", needs, _WANTED)
        return _judge(_counted(host))

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only firmware can stop them."""
        return (
            Remedy(
                "HW04-by-hand",
                "find and switch off what raises SMIs",
                by_hand="stop HW05's daemons, count again; then in the BIOS: power profile at "
                "maximum performance with C- and P-states left to the OS, legacy USB off, error "
                "logging left to the OS, the vendor's guide for low latency",
            ),
        )


def _counted(host: Host) -> int | None:
    """Give the sum over all cores that a copied machine brought with it."""
    if host.is_live:
        return None
    for line in (host.command(*_COMMAND) or "").splitlines():
        value, _, rest = line.partition(",")
        if "msr/smi/" in rest and value.isdecimal():
            return int(value)
    return None


def _judge(counted: int | None) -> Finding:
    if counted is None:
        needs = (
            "an audit counts none: count them yourself, over an hour while nothing is measured: "
            f"{' '.join(_COMMAND)} (or turbostat, column SMI); any at all are too many"
        )
        observed = "SMIs were not counted: reading the counters interrupts every core"
        return unknown(observed, needs, _WANTED)
    observed = f"{counted} SMIs in a minute, summed over all cores"
    return failed(observed, _WANTED) if counted else passed(observed, _WANTED)


CHECK = _SmiRate()
