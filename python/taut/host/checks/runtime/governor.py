"""R16: whether the clock waits for load before it goes up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.boot.item import SysfsValue
from taut.host.check import Check, Finding, Remedy, Severity, not_applicable, unknown
from taut.host.checks.runtime._cores import verdict
from taut.host.checks.runtime._cpufreq import ROLES, absent, policies
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_GOVERNOR = "scaling_governor"
_PREFERENCE = "energy_performance_preference"
_BIAS = "energy_perf_bias"
# The first is what a remedy writes; the kernel takes words and numbers.
_GOOD = {
    _GOVERNOR: ("performance",),
    _PREFERENCE: ("performance", "0"),
    _BIAS: ("0", "performance"),
}


@dataclass(frozen=True)
class _Knob:
    path: str
    text: str
    cores: CpuSet

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_good(self) -> bool:
        return self.text in _GOOD[self.name]


class Governor(Check):
    """Where the processor picks its clock itself (HWP), the governor alone is not enough."""

    id = "R16"
    title = "frequency governor"
    fault = "The governor does not hold the clock at its highest"
    severity = Severity.MAJOR
    why = (
        "a clock that rises with load is low when a burst comes: the first packets take longer, "
        "and each step stops the core for microseconds"
    )
    source = "tuned; cpu-isolation.rst"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge the governor, and hints to the processor where there are any."""
        if situation.role not in ROLES:
            return not_applicable(f"not asked of a {situation.role}")
        wanted = "governor performance, energy preference performance, energy bias 0"
        if not policies(host, situation):
            return absent(host, situation, "frequency governor", wanted)
        knobs = _knobs(host, situation)
        odd = [knob for knob in knobs if not re.fullmatch(r"[\w-]+", knob.text, re.ASCII)]
        if odd or not any(knob.name == _GOVERNOR for knob in knobs):
            observed = f"{odd[0].path}: {odd[0].text[:60]!r}" if odd else "no governor readable"
            return unknown(observed, "a kernel whose format taut knows", wanted)
        wrong = [knob for knob in knobs if not knob.is_good]
        bad = {core for knob in wrong for core in knob.cores}
        said = sorted({f"{knob.name} {knob.text}" for knob in wrong or knobs})
        return verdict(bad, situation, ", ".join(said), wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Write what differs on the polling cores."""
        if situation.role in (Role.KVM_GUEST, Role.CONTAINER):
            return (on_the_host(self.id, "governor performance on the cores that poll"),)
        new = {
            knob.path: _GOOD[knob.name][0]
            for knob in _knobs(host, situation)
            if not knob.is_good and set(knob.cores) & set(situation.cores)
        }
        if not new:
            return ()
        return (
            Remedy(
                "R16-now",
                "governor performance on the polling cores",
                changes=tuple(Change(FileSetting(path), value) for path, value in new.items()),
                cost="power",
            ),
            Remedy(
                "R16-boot",
                "at boot: governor performance on the polling cores",
                boot=tuple(SysfsValue(path, value) for path, value in new.items()),
                cost="power",
            ),
        )


def _knobs(host: Host, situation: Situation) -> list[_Knob]:
    """Hints come first: under the governor performance the kernel takes no other hint (EBUSY).

    Undo goes backwards, so the old governor is back when it writes the old hint.
    """
    found: list[tuple[str, CpuSet]] = []
    for policy in policies(host, situation):
        biases = [f"/sys/devices/system/cpu/cpu{core}/power/{_BIAS}" for core in policy.cores]
        found += [(path, (core,)) for path, core in zip(biases, policy.cores, strict=True)]
        found += [(f"{policy.path}/{name}", policy.cores) for name in (_PREFERENCE, _GOVERNOR)]
    texts = ((path, host.read(path), cores) for path, cores in found)
    return [_Knob(path, text, cores) for path, text, cores in texts if text is not None]


CHECK = Governor()
