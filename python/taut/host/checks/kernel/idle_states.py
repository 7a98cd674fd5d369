"""K15: how deep cores sleep."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy, Severity, failed, not_applicable, passed, unknown
from taut.host.checks.kernel._shape import CPU, RoleCheck, at_boot, named
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

_DRIVER = f"{CPU}/cpuidle/current_driver"
_WANTED = "no idle state deeper than C1 within reach of a poll core"
_WANTED_GUEST = "haltpoll, or a guest that polls while idle"
# C1E leaves more slowly than C1. WFI is the first state of ARM.
_SHALLOW = re.compile(r"POLL|C1|C1_ACPI|WFI|.*haltpoll.*", re.IGNORECASE)
_SHALLOW_US = 2


@dataclass(frozen=True)
class IdleState:
    """One state of one core."""

    core: int
    folder: str
    name: str
    latency_us: int


class IdleStates(RoleCheck):
    """A state is out of reach when it is disabled, or slower than the latency that is held."""

    id = "K15"
    title = "shallow idle states"
    fault = "Idle cores may sleep deeply"
    severity = Severity.MAJOR
    why = (
        "a core that slept deeper than C1 needs 10 to 200 µs until its first instruction, and "
        "other cores' sleep changes turbo and caches of those that poll"
    )
    source = "kernel-parameters.txt (intel_idle.max_cstate); cpuidle.rst; Ducked Tails (2021); NTO"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Look at the driver, then at each core's states."""
        driver = host.read(_DRIVER)
        if driver is None:
            return not_applicable(f"no {_DRIVER} on this kernel")
        if situation.role is Role.KVM_GUEST:
            return _judge_guest(driver)
        if driver == "none":
            return passed("no cpuidle driver: idle cores halt (C1) or poll", _WANTED)
        cores = situation.cores or situation.online
        states = list(_states(host, cores))
        if not states:
            return unknown(f"{driver}, no states", f"{CPU}/cpuN/cpuidle", _WANTED)
        deep = _deep(host, states)
        if deep:
            names = " ".join(dict.fromkeys(f"{state.name}({state.latency_us}µs)" for state in deep))
            found = tuple(sorted({state.core for state in deep}))
            return failed(f"{driver}: {names} on {named(found)}", _WANTED, found)
        return passed(f"{driver}: C1 at most on {named(cores)}", _WANTED, cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Disable the states of these cores now; at boot the limit is for all cores."""
        if situation.role is Role.KVM_GUEST:
            parameter = KernelParameter("cpuidle_haltpoll.force", "1")
            cost = "the host's core is busy for up to 200 µs of each idle period"
            return (at_boot(self.id, "let idle cores poll before they halt", parameter, cost=cost),)
        deep = _deep(host, list(_states(host, situation.cores or situation.online)))
        changes = [Change(FileSetting(f"{state.folder}/disable", "number"), "1") for state in deep]
        now = Remedy("K15-now", "disable idle states below C1", changes=changes, cost="power")
        boot = at_boot(
            self.id,
            "no idle state below C1 on any core",
            *_parameters(situation.machine.vendor),
            cost="power of all cores, and less turbo",
            measure="R19 limits the poll cores alone; Ducked Tails sets intel_idle.max_cstate=0",
        )
        return (now, boot) if changes else (boot,)


def _parameters(vendor: str) -> Sequence[KernelParameter]:
    if vendor == "arm":
        return (KernelParameter("cpuidle.off", "1"),)
    # 0 would only turn intel_idle off: acpi_idle then brings the deep states back.
    acpi = KernelParameter("processor.max_cstate", "1")
    return (KernelParameter("intel_idle.max_cstate", "1"), acpi) if vendor == "intel" else (acpi,)


def _judge_guest(driver: str) -> Finding:
    if driver == "haltpoll":
        return passed("haltpoll", _WANTED_GUEST)
    return failed(f"cpuidle driver: {driver}", _WANTED_GUEST)


def _states(host: Host, cores: CpuSet) -> Iterator[IdleState]:
    """States that are enabled."""
    for core in cores:
        for folder in host.paths(f"{CPU}/cpu{core}/cpuidle/state*"):
            name, latency = host.read(f"{folder}/name"), host.number(f"{folder}/latency")
            if name and host.read(f"{folder}/disable") == "0":
                yield IdleState(core, folder, name, latency or 0)


def _deep(host: Host, states: Sequence[IdleState]) -> list[IdleState]:
    limits = {core: _held_us(host, core) for core in {state.core for state in states}}
    return [
        state
        for state in states
        if not _SHALLOW.fullmatch(state.name)
        and not 0 < state.latency_us <= _SHALLOW_US
        and state.latency_us <= limits[state.core]
    ]


def _held_us(host: Host, core: int) -> float:
    """Give the exit latency somebody holds for a core (PM QoS, cpuidle.rst)."""
    text = host.read(f"{CPU}/cpu{core}/power/pm_qos_resume_latency_us")
    if text == "n/a":
        return 0
    limits = [float(text)] if text and text.isdigit() and int(text) > 0 else []
    held = host.read_bytes("/dev/cpu_dma_latency")
    if held is not None and len(held) == 4:
        limits.append(float(int.from_bytes(held, "little", signed=True)))
    return min(limits, default=float("inf"))


CHECK = IdleStates()
