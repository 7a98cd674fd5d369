"""G02: gaps that nothing inside the guest explains."""

from taut.core.cpus import format_cpu_list
from taut.host.check import Check, Finding, Severity, unknown
from taut.host.checks.kvm_guest._shape import not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "fewer than 1 above 5 µs per minute, on a host that dedicates its cores"


class _UnexplainedGaps(Check):
    id = "G02"
    title = "unexplained gaps"
    severity = Severity.MAJOR
    why = (
        "exits to the host leave no other trace in a guest; a nested guest had 310 such gaps per "
        "second, 10 µs each in the mean"
    )
    source = "measured on the development machine"

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Say how to measure it: an audit reads, it does not poll."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        cores = format_cpu_list(situation.cores) or "LIST"
        needs = (
            f"measure: taut host noise --cores {cores} --duration 60s; gaps above 5 µs that no "
            "interrupt, tick or switch explains are the host's"
        )
        return unknown("an audit does not poll", needs, _WANTED)


CHECK = _UnexplainedGaps()
