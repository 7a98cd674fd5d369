"""K16: who chooses a core's frequency."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.kernel._shape import CPU, RoleCheck, at_boot
from taut.host.host import Host
from taut.host.machine import Machine
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING, on_the_host
from taut.host.situation import Role, Situation

_INTEL = f"{CPU}/intel_pstate/status"
_AMD = f"{CPU}/amd_pstate/status"
# What the kernel calls generations up to Skylake and its descendants (perf's names).
_OLD_NAMES = ("sandybridge", "ivybridge", "haswell", "broadwell", "skylake")
# Their models of family 6 (arch/x86/include/asm/intel-family.h), for guests without a PMU.
_OLD_MODELS = frozenset(
    {42, 45, 58, 62, 60, 63, 69, 70, 61, 71, 79, 86, 78, 94, 85, 142, 158, 165, 166, 102}
)
_RISK = "governor and limits of the frequency start anew: set them afterwards (R16, R17)"


class FrequencyDriver(RoleCheck):
    """Advice depends on the processor's generation; old guides are wrong for new processors."""

    id = "K16"
    title = "frequency driver fits the processor"
    fault = "The frequency driver does not fit the processor"
    severity = Severity.MINOR
    why = (
        "from Ice Lake on the processor itself does better with intel_pstate active; "
        "intel_pstate=disable was advice for Skylake and before, whose driver added jitter"
    )
    source = "tuned (function_intel_recommended_pstate.py); NTO; kernel-parameters.txt"
    roles = POLLING | {Role.CONTAINER}

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare driver and mode with the generation's rule."""
        machine = situation.machine
        core = (situation.cores or situation.online or (0,))[0]
        driver = host.read(f"{CPU}/cpu{core}/cpufreq/scaling_driver")
        if not driver:
            return not_applicable("no frequency scaling here: firmware or a host does it")
        wanted = _wanted(host, machine)
        if wanted is None:
            return not_applicable(f"{driver}: no rule for this processor")
        if wanted == "":
            return unknown(driver, "a processor generation taut knows", "as for its generation")
        mode = host.read(_INTEL if machine.vendor == "intel" else _AMD)
        observed = f"{driver}, mode {mode}" if mode else driver
        is_active = mode == "active"
        if machine.vendor == "amd":
            is_good = driver.startswith("amd-pstate") or "cppc" not in machine.flags
        else:
            is_good = is_active if _is_new(host, machine) else not is_active
        return passed(observed, wanted) if is_good else failed(observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch now where the driver can, and at boot."""
        machine = situation.machine
        if situation.role in (Role.KVM_GUEST, Role.CONTAINER):
            return (on_the_host(self.id, "choose the frequency driver for its processor"),)
        if machine.vendor == "amd":
            mode = "active" if machine.kernel >= (6, 3) else "passive"
            return (self._boot(KernelParameter("amd_pstate", mode), "NTO uses passive as well"),)
        if machine.vendor != "intel" or _is_new(host, machine) is None:
            return ()
        is_new = _is_new(host, machine)
        mode, parameter = ("active", "active") if is_new else ("passive", "disable")
        measure = "" if is_new else "kernel documentation has no such rule; tuned and NTO have"
        found = [self._boot(KernelParameter("intel_pstate", parameter), measure)]
        if host.read(_INTEL) is not None:
            change = Change(FileSetting(_INTEL), mode)
            summary = f"switch intel_pstate to {mode}"
            now = Remedy(
                "K16-now",
                summary,
                changes=(change,),
                profile=Profile.EXTREME,
                risk=_RISK,
                measure=measure,
            )
            found.insert(0, now)
        return found

    def _boot(self, parameter: KernelParameter, measure: str) -> Remedy:
        return at_boot(
            self.id,
            f"boot with {parameter}",
            parameter,
            profile=Profile.EXTREME,
            measure=measure,
        )


def _wanted(host: Host, machine: Machine) -> str | None:
    """Give the rule; "" where the generation is unknown, None where there is no rule."""
    if machine.vendor == "amd":
        return "amd-pstate where the processor has CPPC"
    if machine.vendor != "intel":
        return None
    is_new = _is_new(host, machine)
    if is_new is None:
        return ""
    return "intel_pstate active (Ice Lake and later)" if is_new else "not intel_pstate active"


def _is_new(host: Host, machine: Machine) -> bool | None:
    """Whether an Intel processor is younger than Skylake's family; None: cannot be told."""
    for pmu in ("cpu", "cpu_core"):
        name = host.read(f"/sys/devices/{pmu}/caps/pmu_name")
        if name:
            return name not in _OLD_NAMES
    if machine.family > 6 and machine.family != 15:
        return True
    if machine.family != 6 or machine.model == 0:
        return None
    return machine.model not in _OLD_MODELS if machine.model >= 42 else False


CHECK = FrequencyDriver()
