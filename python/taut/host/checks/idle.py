"""Checks of idle states: how deep a core may sleep."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.boot.item import KernelParameter, SysfsValue
from taut.host.check import Finding, Remedy, Rollback
from taut.host.checks._boot import need_command_line, value
from taut.host.checks._haltpoll import COST, halts, has_haltpoll, need_idling
from taut.host.checks._holders import holders
from taut.host.checks._latency import held_us, need_limit
from taut.host.setting import Change
from taut.host.settings.held_latency import DEVICE, HeldLatency
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    POLLING,
    REBOOT,
    RECOMMENDED,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.threads import some
from taut.host.view import CPU, NEW_FORMAT, View, named

_DRIVER = f"{CPU}/cpuidle/current_driver"
# C1E leaves more slowly than C1. WFI is the first state of ARM.
_SHALLOW = re.compile(r"POLL|C1|C1_ACPI|WFI|.*haltpoll.*", re.IGNORECASE)
_SHALLOW_US = 2
_NO_LIMIT_US = 2_000_000_000
"""What the device gives while nobody limits it (PM_QOS_CPU_LATENCY_DEFAULT_VALUE)."""
_C1_US = 3
"""Where firmware gives C1 no latency at all: tuned's value, which keeps C1 and forbids C2."""


@dataclass(frozen=True)
class _State:
    """One idle state of one core."""

    core: int
    folder: str
    name: str
    """Empty where the kernel gives none."""
    latency_us: int
    has_latency: bool
    disable: str | None

    def __str__(self) -> str:
        return f"{self.name or self.folder.rpartition('/')[2]} ({self.latency_us} µs)"


def _states(see: View, core: int) -> list[_State]:
    """States of a core, shallow ones first; none where nothing manages them."""
    folder = f"{CPU}/cpu{core}/cpuidle"
    numbers = [name.removeprefix("state") for name in see.names(folder)]
    found = []
    for number in sorted(int(number) for number in numbers if number.isdecimal()):
        path = f"{folder}/state{number}"
        name, latency = see.read(f"{path}/name") or "", see.number(f"{path}/latency")
        disable = see.read(f"{path}/disable")
        found.append(_State(core, path, name, latency or 0, latency is not None, disable))
    return found


def _limit_path(core: int) -> str:
    return f"{CPU}/cpu{core}/power/pm_qos_resume_latency_us"


def idle_poll(see: View) -> Finding:
    """Pass idle=poll where the hardware is ours, at the price of power; fail it in a guest.

    A core that polls never idles; the parameter makes all the others burn power as well.
    """
    if not see.machine.is_x86:
        see.skip("idle= is for x86")
    need_command_line(see)
    if value(see, "idle") != "poll":
        return see.passed("no idle=poll")
    if see.role in BARE:
        return see.passed("idle=poll: no exit latency, at the power of all cores", wanted="")
    return see.failed("idle=poll")


def idle_states(see: View) -> Finding:
    """Look at the driver, then at each core's states.

    A state is out of reach when it is disabled, or slower than the latency that is held.
    """
    driver = see.read(_DRIVER)
    if driver is None:
        see.skip(f"no {_DRIVER} on this kernel")
    if see.role is Role.KVM_GUEST:
        return _in_a_guest(see, driver)
    if driver == "none":
        return see.passed("no cpuidle driver: idle cores halt (C1) or poll")
    enabled = _enabled(see)
    if not enabled:
        see.cannot_tell(f"{driver}, no states", f"{CPU}/cpuN/cpuidle")
    if deep := _below_c1(see, enabled):
        if all(state.latency_us for state in deep):  # Else no limit forbids them all.
            need_limit(see)
        names = " ".join(dict.fromkeys(f"{state.name}({state.latency_us}µs)" for state in deep))
        cores = tuple(sorted({state.core for state in deep}))
        return see.failed(f"{driver}: {names} on {named(cores)}", cores)
    return see.passed(f"{driver}: C1 at most on {named(see.judged)}", see.judged)


def _in_a_guest(see: View, driver: str) -> Finding:
    """How deep the host's core sleeps, the host decides; a guest may poll before it halts."""
    see = replace(see, wanted="haltpoll, or a guest that polls while idle")
    if driver == "haltpoll":
        return see.passed("haltpoll")
    observed = f"cpuidle driver: {driver}"
    need_idling(see, observed)
    if not has_haltpoll(see):
        see.skip(f"{observed}; this kernel has no haltpoll (for x86 guests of KVM)")
    return halts(see, observed)


def _enabled(see: View) -> list[_State]:
    states = (state for core in see.judged for state in _states(see, core))
    return [state for state in states if state.name and state.disable == "0"]


def _below_c1(see: View, states: Sequence[_State]) -> list[_State]:
    limits = {core: _exit_limit_us(see, core) for core in {state.core for state in states}}
    return [
        state
        for state in states
        if not _SHALLOW.fullmatch(state.name)
        and not 0 < state.latency_us <= _SHALLOW_US
        and state.latency_us <= limits[state.core]
    ]


def _exit_limit_us(see: View, core: int) -> float:
    """Give the exit latency somebody holds for a core (PM QoS, cpuidle.rst)."""
    text = see.read(_limit_path(core))
    if text == "n/a":
        return 0
    limits = [float(text)] if text and text.isdigit() and int(text) > 0 else []
    if (held := held_us(see)) is not None:
        limits.append(held)
    return min(limits, default=float("inf"))


def forbid_deep_states(see: View) -> Iterable[Remedy]:
    """Disable the states of these cores now; at boot the limit is for all cores."""
    if see.role is Role.KVM_GUEST:
        if has_haltpoll(see):
            summary = "let idle cores poll before they halt"
            parameter = KernelParameter("cpuidle_haltpoll.force", "1")
            yield boot(summary, parameter, rollback=REBOOT, cost=COST)
        return
    if deep := _below_c1(see, _enabled(see)):
        changes = (write(f"{state.folder}/disable", "1") for state in deep)
        yield now("disable idle states below C1", *changes, cost="power")
    vendor = see.machine.vendor
    # 0 would only turn intel_idle off: acpi_idle then brings the deep states back.
    items = [KernelParameter("processor.max_cstate", "1")]
    if vendor == "intel":
        items.insert(0, KernelParameter("intel_idle.max_cstate", "1"))
    if vendor == "arm":
        items = [KernelParameter("cpuidle.off", "1")]
    yield boot(
        "no idle state below C1 on any core",
        *items,
        rollback=REBOOT,
        cost="power of all cores, and less turbo",
        measure="R19 limits the poll cores alone; Ducked Tails sets intel_idle.max_cstate=0",
    )


def held_latency(see: View) -> Finding:
    """Look for states that the limits in force leave open.

    A core with a limit of its own (R19), or without deep states, needs no holder.
    """
    if see.role not in BARE | {Role.HOUSEKEEPING}:
        see.skip(f"not asked of a {see.role}: the host's idle states count")
    cores = _held_for(see)
    _need_states(see, cores)
    if not _open(see, cores, _NO_LIMIT_US):
        return see.passed("no state deeper than C1 is open, without a holder")
    limit_us = held_us(see)
    if limit_us is None:
        need_limit(see)
        if not see.is_there(DEVICE):
            see.cannot_tell(f"no {DEVICE}, and deep states are open", "a kernel with PM QoS")
        see.cannot_tell(f"{DEVICE}: not four bytes", NEW_FORMAT)
    held = "no limit" if limit_us >= _NO_LIMIT_US else f"{limit_us} µs, held by {_who(see)}"
    deep = _open(see, cores, limit_us)
    if not deep:
        return see.passed(f"{DEVICE}: {held}")
    return see.failed(f"{DEVICE}: {held}; {'; '.join(deep)}", see.cores)


def _held_for(see: View) -> CpuSet:
    return see.online if see.role is Role.HOUSEKEEPING else see.judged


def _need_states(see: View, cores: CpuSet) -> None:
    if not any(state.has_latency for core in cores for state in _states(see, core)):
        see.skip("no idle states (cpuidle): nothing to limit")


def _open(see: View, cores: CpuSet, limit_us: int) -> list[str]:
    """Name what is open, by state."""
    found: dict[str, list[int]] = {}
    for core in cores:
        own_us = _own_limit_us(see, core)
        state = _deepest(see, core, limit_us if own_us is None else min(limit_us, own_us))
        if state is not None:
            found.setdefault(str(state), []).append(core)
    return [f"{state} open on {format_cpu_list(cores)}" for state, cores in found.items()]


def _own_limit_us(see: View, core: int) -> int | None:
    """Give the limit of one core; None when there is no such file or it makes no sense."""
    text = see.read(_limit_path(core))
    if text == "n/a":
        return 0
    try:
        limit = int(text or "")
    except ValueError:
        return None
    # 0 is "no limit" here, unlike for the device.
    return limit or _NO_LIMIT_US


def _deepest(see: View, core: int, limit_us: int) -> _State | None:
    """Give the deepest state below C1 that a core may enter under a limit; None: none."""
    states = _states(see, core)
    least_us = _c1_us(states)
    deep = [
        state
        for state in states
        if state.has_latency and state.disable != "1" and least_us < state.latency_us <= limit_us
    ]
    return max(deep, key=lambda state: state.latency_us, default=None)


def _c1_us(states: Sequence[_State]) -> int:
    """Latency that still allows the shallowest halt (C1, WFI) and nothing deeper."""
    halts = (state for state in states if state.has_latency and state.name != "POLL")
    return next((state.latency_us for state in halts), 0) or _C1_US


def _who(see: View) -> str:
    found = holders(see.host, lambda target: target == "cpu_dma_latency")
    return some(found) if found else "a process this user may not look into"


def hold_latency(see: View) -> Iterable[Remedy]:
    """Hold the latency of C1; one core at a time is cheaper where the kernel can (R19)."""
    cores = _held_for(see)
    limit_us = min(_c1_us(_states(see, core)) for core in cores)
    is_only_way = see.role is Role.HOUSEKEEPING or any(
        _own_limit_us(see, core) is None for core in cores
    )
    yield now(
        f"hold a wake-up latency of {limit_us} µs for all cores",
        Change(HeldLatency(), str(limit_us)),
        profile=RECOMMENDED if is_only_way else EXTREME,
        cost="power and turbo: no core of the machine sleeps deeper than C1",
        rollback=Rollback.CLOSE,
    )


def resume_latency(see: View) -> Finding:
    """Compare each core's limit with its states; one held for all cores (R18) serves as well."""
    _need_states(see, see.judged)
    held = held_us(see)
    bad = {}
    for core in see.judged:
        own_us = _own_limit_us(see, core)
        if own_us is None:
            see.odd(_limit_path(core))
        state = _deepest(see, core, own_us if held is None else min(own_us, held))
        if state is not None:
            bad[core] = f"core {core}: {state} is open"
    if bad:
        need_limit(see)
    good = f"no state deeper than C1 is open on {format_cpu_list(see.judged)}"
    return see.none_of(bad, "; ".join(bad.values()) or good)


def limit_latency(see: View) -> Iterable[Remedy]:
    """Allow C1, on the poll cores."""
    values = {_limit_path(core): str(_c1_us(_states(see, core))) for core in see.cores}
    if not values:
        return
    summary = f"let cores {format_cpu_list(see.cores)} sleep no deeper than C1"
    cost = "power on these cores"
    risk = "one value for all who ask: another program may overwrite it"
    changes = [write(path, text, "text") for path, text in values.items()]
    yield now(summary, *changes, risk=risk, cost=cost)
    items = [SysfsValue(path, text) for path, text in values.items()]
    yield boot(f"at boot: {summary}", *items, risk=risk, cost=cost)


CHECKS = (
    Check(
        "K14",
        "no idle=poll",
        "Idle cores spin (idle=poll)",
        MINOR,
        idle_poll,
        "no idle=poll: hold the latency per core instead (R18, R19)",
        roles=POLLING | {Role.HOUSEKEEPING},
        remedies=by_hand(
            "remove idle=poll",
            "remove idle=poll from the kernel's command line; R18 and R19 do it per core",
        ),
        why="every idle core spins: the sibling thread starves, turbo goes, and in a guest the "
        "host's core burns and haltpoll is off; kernel-parameters.txt does not recommend it",
        source="kernel-parameters.txt (idle=); Intel NFV-I (2018) and Ducked Tails (2021) set it",
    ),
    Check(
        "K15",
        "shallow idle states",
        "Idle cores may sleep deeply",
        MAJOR,
        idle_states,
        "no idle state deeper than C1 within reach of a poll core",
        remedies=forbid_deep_states,
        why="a core that slept deeper than C1 needs 10 to 200 µs until its first instruction, and "
        "other cores' sleep changes turbo and caches of those that poll",
        source="kernel-parameters.txt (intel_idle.max_cstate); cpuidle.rst; Ducked Tails (2021); "
        "NTO",
    ),
    Check(
        "R18",
        "held wake-up latency",
        "No held latency keeps cores out of deep idle states",
        MAJOR,
        held_latency,
        "no core enters a state deeper than C1",
        roles=EVERYWHERE,
        remedies=hold_latency,
        why="a core that idles in a deep state takes 100 µs and more to wake up; the limit holds "
        "for all cores, and only while somebody keeps the file open",
        source="admin-guide/pm/cpuidle.rst; tuned latency-performance (force_latency)",
    ),
    Check(
        "R19",
        "wake-up latency of poll cores",
        "Poll cores may sleep deeply",
        MAJOR,
        resume_latency,
        "n/a (no latency) or that of C1, on every core that polls",
        roles=BARE,
        remedies=limit_latency,
        why="a core that idles in a deep state takes 100 µs and more to wake up; this limit costs "
        "power on the poll cores alone, and needs no process that holds it",
        source="admin-guide/pm/cpuidle.rst; tuned plugin_cpu (pm_qos_resume_latency_us)",
    ),
)
