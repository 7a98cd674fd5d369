"""V08: interrupts and timers that reach a guest without an exit."""

from collections.abc import Sequence

from taut.host.boot.item import ModuleOption
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Rollback,
    Severity,
    State,
    failed,
    not_applicable,
    passed,
)
from taut.host.checks.kvm_host._module import (
    Parameter,
    judge_parameter,
    written_now,
)
from taut.host.checks.kvm_host._shape import not_a_host
from taut.host.host import Host
from taut.host.situation import Situation

_CONTROLLERS = (
    Parameter("kvm_intel", "enable_apicv", ("Y", "1"), "1"),
    Parameter("kvm_amd", "avic", ("Y", "1"), "1"),
)
# -1: where the host has nohz_full cores; what KVM made of it shows once it is loaded.
_TIMERS = Parameter("kvm", "pi_inject_timer", ("Y", "1"), "1")


class ExitlessInterrupts(Check):
    """APICv or AVIC, and timers that a housekeeping core injects (posted interrupts)."""

    id = "V08"
    title = "interrupts without exits"
    fault = "Interrupts make virtual CPUs leave their guest"
    severity = Severity.MAJOR
    why = (
        "without APICv or AVIC every interrupt, IPI and timer of a guest is an exit of "
        "microseconds, and its timers fire on the core that runs it"
    )
    source = "Linux, arch/x86/kvm; general knowledge"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Both."""
        if finding := not_a_host(situation):
            return finding
        parameters = _there(host)
        if not parameters:
            return not_applicable("neither kvm_intel nor kvm_amd is loaded")
        findings = [judge_parameter(host, each) for each in parameters]
        odd = [each for each in findings if each.state not in (State.PASS, State.FAIL)]
        if odd:
            return odd[0]
        observed = ", ".join(each.observed for each in findings)
        wanted = ", ".join(each.wanted for each in findings)
        is_good = all(each.state is State.PASS for each in findings)
        return passed(observed, wanted) if is_good else failed(observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """The controller by loading its module; the timers at once."""
        bad = [each for each in _there(host) if judge_parameter(host, each).state is not State.PASS]
        now = [written_now(self.id, each, "number") for each in bad if each is _TIMERS]
        options = tuple(ModuleOption(each.module, each.option, each.value) for each in bad)
        boot = Remedy(
            f"{self.id}-boot",
            "load KVM with interrupts and timers that need no exit",
            boot=options,
            rollback=Rollback.REBOOT,
        )
        return (*now, *([boot] if options else []))


def _there(host: Host) -> list[Parameter]:
    controllers = [each for each in _CONTROLLERS if host.is_there(f"/sys/module/{each.module}")]
    if not controllers:
        return []
    return [*controllers, *([_TIMERS] if host.is_there(_TIMERS.path) else [])]


CHECK = ExitlessInterrupts()
