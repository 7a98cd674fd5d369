"""Idle states a core may enter, with the limits on its wake-up latency taken into account."""

import struct
from dataclasses import dataclass

from taut.host.host import Host

LATENCY = "/dev/cpu_dma_latency"
NO_LIMIT_US = 2_000_000_000
"""What the device gives while nobody limits it (PM_QOS_CPU_LATENCY_DEFAULT_VALUE)."""

# Where firmware gives C1 no latency at all: tuned's value, which keeps C1 and forbids C2.
_SHALLOW_US = 3


@dataclass(frozen=True)
class IdleState:
    """One state of cpuidle."""

    name: str
    latency_us: int
    is_disabled: bool


def idle_states(host: Host, core: int) -> list[IdleState]:
    """States of a core, shallow ones first; none where nothing manages them."""
    folder = f"/sys/devices/system/cpu/cpu{core}/cpuidle"
    numbers = [name for name in host.names(folder) if name.removeprefix("state").isdecimal()]
    found = []
    for name in sorted(numbers, key=lambda name: int(name.removeprefix("state"))):
        latency = host.number(f"{folder}/{name}/latency")
        if latency is not None:
            found.append(
                IdleState(
                    name=host.read(f"{folder}/{name}/name") or name,
                    latency_us=latency,
                    is_disabled=host.read(f"{folder}/{name}/disable") == "1",
                )
            )
    return found


def shallow_us(states: list[IdleState]) -> int:
    """Latency that still allows the shallowest halt (C1, WFI) and nothing deeper."""
    for state in states:
        if state.name != "POLL":
            return state.latency_us or _SHALLOW_US
    return _SHALLOW_US


def deepest(host: Host, core: int, limit_us: int) -> IdleState | None:
    """Give the deepest state below C1 that a core may enter under a limit; None: none."""
    states = idle_states(host, core)
    least = shallow_us(states)
    deep = [
        state for state in states if not state.is_disabled and least < state.latency_us <= limit_us
    ]
    return max(deep, key=lambda state: state.latency_us, default=None)


def global_limit_us(host: Host) -> int | None:
    """Give the limit that is held for all cores; None when it cannot be read."""
    data = host.read_bytes(LATENCY)
    return struct.unpack("=i", data)[0] if data is not None and len(data) == 4 else None


def core_limit_us(host: Host, core: int) -> int | None:
    """Give the limit of one core; None when there is no such file or it makes no sense."""
    text = host.read(core_limit_path(core))
    if text == "n/a":
        return 0
    try:
        limit = int(text or "")
    except ValueError:
        return None
    # 0 is "no limit" here, unlike for the device.
    return limit or NO_LIMIT_US


def core_limit_path(core: int) -> str:
    """Name the file that holds the limit of one core."""
    return f"/sys/devices/system/cpu/cpu{core}/power/pm_qos_resume_latency_us"
