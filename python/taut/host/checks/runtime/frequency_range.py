"""R17: whether the clock may change at all."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import Check, Finding, Remedy, Severity, not_applicable, unknown
from taut.host.checks.runtime._cores import verdict
from taut.host.checks.runtime._cpufreq import ROLES, absent, policies
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_SHOWN = 3


class FrequencyRange(Check):
    """The lowest allowed frequency equals the highest."""

    id = "R17"
    title = "frequency range"
    fault = "The frequency may change"
    severity = Severity.MINOR
    why = "each step of the clock stops the core for microseconds and changes every service time"
    source = "OpenShift node tuning operator (hardware tuning); rt-conf"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the two."""
        if situation.role not in ROLES:
            return not_applicable(f"not asked of a {situation.role}")
        wanted = "lowest = highest frequency"
        found = policies(host, situation)
        if not found:
            return absent(host, situation, "frequency range", wanted)
        bad: set[int] = set()
        said = []
        for policy in found:
            low_khz, high_khz = _range_khz(host, policy.path)
            if low_khz is None or high_khz is None:
                observed = f"{policy.path}: no range that can be read"
                return unknown(observed, "a kernel whose format taut knows", wanted)
            if low_khz != high_khz:
                bad |= set(policy.cores)
            said.append(f"{low_khz}-{high_khz} kHz on core {format_cpu_list(policy.cores)}")
        more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
        return verdict(bad, situation, ", ".join(said[:_SHOWN]) + more, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Raise the lowest."""
        if situation.role in (Role.KVM_GUEST, Role.CONTAINER):
            return (on_the_host(self.id, "scaling_min_freq = scaling_max_freq"),)
        changes = []
        for policy in policies(host, situation) if situation.cores else ():
            low_khz, high_khz = _range_khz(host, policy.path)
            if high_khz is not None and low_khz != high_khz:
                setting = FileSetting(f"{policy.path}/scaling_min_freq", "number")
                changes.append(Change(setting, str(high_khz)))
        if not changes:
            return ()
        return (
            Remedy(
                "R17-now",
                "lowest frequency = highest on the polling cores",
                changes=changes,
                cost="power",
                after=("R16-now",),
            ),
        )


def _range_khz(host: Host, policy: str) -> tuple[int | None, int | None]:
    low, high = (host.number(f"{policy}/scaling_{end}_freq") for end in ("min", "max"))
    return low, high


CHECK = FrequencyRange()
