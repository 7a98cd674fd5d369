"""A check of one parameter of a KVM module."""

from collections.abc import Sequence
from dataclasses import dataclass

from taut.host.boot.item import ModuleOption
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Rollback,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks.kvm_host._shape import not_a_host
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation

SWITCH = ("Y", "N")
"""How the kernel shows a switch, where not as a number."""


@dataclass(frozen=True)
class Parameter:
    """Of a module, and what is wanted of it."""

    module: str
    option: str
    good: Sequence[str]
    """Texts that are as wanted."""
    value: str
    """What the remedy sets."""

    @property
    def path(self) -> str:
        """Where it shows."""
        return f"/sys/module/{self.module}/parameters/{self.option}"


@dataclass(frozen=True)
class ModuleCheck:
    """One parameter, of the first of these modules that is loaded; only loading it sets it."""

    id: str
    title: str
    fault: str
    severity: Severity
    why: str
    source: str
    parameters: Sequence[Parameter]
    """One per kind of processor."""
    risk: str = ""
    cost: str = ""
    profile: Profile = Profile.RECOMMENDED
    watches: Sequence[str] = ()
    traces: Sequence[str] = ()

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare."""
        if finding := not_a_host(situation):
            return finding
        parameter = self._loaded(host)
        if parameter is None:
            modules = " and ".join(each.module for each in self.parameters)
            return not_applicable(f"{modules} not loaded")
        return judge_parameter(host, parameter)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """At the module's next start; reloading it ends every guest, so taut does not."""
        parameter = self._loaded(host)
        if parameter is None:
            return ()
        what = f"{parameter.module}.{parameter.option} = {parameter.value}"
        boot = at_module_start(self.id, parameter, f"load with {what}", self.profile)
        reload = Remedy(
            f"{self.id}-by-hand",
            f"reload {parameter.module} before the next boot",
            by_hand=f"with no guest running: modprobe -r {parameter.module}; modprobe"
            f" {parameter.module} {parameter.option}={parameter.value}",
            rollback=Rollback.REBOOT,
        )
        return (boot, reload)

    def _loaded(self, host: Host) -> Parameter | None:
        return next(
            (each for each in self.parameters if host.is_there(f"/sys/module/{each.module}")), None
        )


def judge_parameter(host: Host, parameter: Parameter) -> Finding:
    """Compare one parameter; what is neither a number nor a switch is unknown."""
    wanted = f"{parameter.option} = {parameter.value}"
    text = host.read(parameter.path)
    if text is None:
        return unreadable(host, parameter.path, wanted)
    if text not in (*SWITCH, *parameter.good) and not text.removeprefix("-").isdecimal():
        needs = "a kernel whose format taut knows"
        return unknown(f"{parameter.path}: {text[:60]!r}", needs, wanted)
    observed = f"{parameter.path} = {text}"
    return passed(observed, wanted) if text in parameter.good else failed(observed, wanted)


def at_module_start(
    check_id: str, parameter: Parameter, summary: str, profile: Profile = Profile.RECOMMENDED
) -> Remedy:
    """Set it in modprobe.d."""
    return Remedy(
        f"{check_id}-boot",
        summary,
        boot=(ModuleOption(parameter.module, parameter.option, parameter.value),),
        profile=profile,
        rollback=Rollback.REBOOT,
    )


def written_now(
    check_id: str, parameter: Parameter, form: str = "text", *, cost: str = ""
) -> Remedy:
    """Write it: some parameters can change while guests run."""
    return Remedy(
        f"{check_id}-now",
        f"write {parameter.value} to {parameter.path}",
        changes=(Change(FileSetting(parameter.path, form), parameter.value),),
        cost=cost,
    )
