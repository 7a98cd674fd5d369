"""HW09: frequencies above the nominal one, which depend on what the other cores do."""

from collections.abc import Sequence
from dataclasses import dataclass

from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.hardware._shape import hidden, is_guest, not_asked
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_CPU = "/sys/devices/system/cpu"
_ROLES = (Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST, Role.CONTAINER)
_WANTED = "off, or on with one frequency and every core held in C0"
_FLAGS = {"ida", "cpb"}
"""With which a processor says that it has turbo and the BIOS left it on: Intel's, AMD's."""


@dataclass(frozen=True)
class _Switch:
    path: str
    off: str


_SWITCHES = (_Switch(f"{_CPU}/intel_pstate/no_turbo", "1"), _Switch(f"{_CPU}/cpufreq/boost", "0"))


class _Turbo(Check):
    id = "HW09"
    title = "turbo"
    fault = "Turbo changes the clock of poll cores"
    severity = Severity.MINOR
    why = (
        "how fast turbo is depends on how many cores are awake: the frequency steps when a "
        "neighbour wakes or sleeps; without turbo the clock is 10 to 40 % slower, and constant"
    )
    source = "tuned (boost=1 since 2.27); Red Hat OpenStack NFV BIOS table (turbo off)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Read the switch; where it is on, look whether anything can still step."""
        if (finding := not_asked(situation, _ROLES)) is not None:
            return finding
        if is_guest(situation):
            return hidden("turbo", _WANTED)
        switch = _switch(host)
        if switch is None:
            return _without_switch(situation)
        value = host.read(switch.path)
        if value not in ("0", "1"):
            return unknown(
                f"{switch.path}: {(value or '')[:60]!r}",
                "a kernel whose format taut knows",
                _WANTED,
            )
        observed = f"{switch.path} = {value}"
        if value == switch.off:
            return passed(f"{observed}: off", _WANTED)
        if _is_steady(host, situation):
            return passed(f"{observed}: on, at one frequency, every core in C0", _WANTED)
        return failed(f"{observed}: on, and cores change their frequency or sleep", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch it off."""
        switch = _switch(host)
        if switch is None:
            return ()
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, f"{switch.path}: {switch.off}"),)
        cost = "10 to 40 % of the clock"
        measure = "tuned switches turbo on, Red Hat's NFV guide off"
        return (
            Remedy(
                "HW09-now",
                f"write {switch.off} to {switch.path}: turbo off",
                changes=(Change(FileSetting(switch.path, "number"), switch.off),),
                profile=Profile.EXTREME,
                cost=cost,
                measure=measure,
            ),
            Remedy(
                "HW09-boot",
                "at boot: turbo off",
                boot=(SysfsValue(switch.path, switch.off),),
                profile=Profile.EXTREME,
                cost=cost,
                measure=measure,
            ),
        )


def _switch(host: Host) -> _Switch | None:
    return next((switch for switch in _SWITCHES if host.read(switch.path) is not None), None)


def _without_switch(situation: Situation) -> Finding:
    if not situation.machine.is_x86:
        return not_applicable("no turbo switch on this processor")
    if _FLAGS.isdisjoint(situation.machine.flags):
        return not_applicable("no turbo, or off in the BIOS: the processor does not name it")
    needs = "look in the BIOS, or boot with a frequency driver that has the switch"
    return unknown("the processor has turbo; the kernel has no switch for it", needs, _WANTED)


def _is_steady(host: Host, situation: Situation) -> bool:
    return bool(situation.online) and all(
        _has_one_frequency(host, core) and _stays_awake(host, core) for core in situation.online
    )


def _has_one_frequency(host: Host, core: int) -> bool:
    folder = f"{_CPU}/cpu{core}/cpufreq"
    least = host.number(f"{folder}/scaling_min_freq")
    return least is not None and least == host.number(f"{folder}/scaling_max_freq")


def _stays_awake(host: Host, core: int) -> bool:
    """Whether the only state it may idle in is polling."""
    if host.read_bytes("/dev/cpu_dma_latency") == bytes(4):  # held at 0 us
        return True
    folder = f"{_CPU}/cpu{core}/cpuidle"
    states = [name for name in host.names(folder) if name.startswith("state")]
    sleeping = [name for name in states if host.read(f"{folder}/{name}/name") != "POLL"]
    return bool(states) and all(host.read(f"{folder}/{name}/disable") == "1" for name in sleeping)


CHECK = _Turbo()
