"""How deep cores may sleep: the wake-up latency held for all of them, and states switched off."""

import struct

from taut.host.settings.held_latency import DEVICE
from taut.host.view import CPU, View


def held_us(see: View) -> int | None:
    """Give the limit that is held for all cores; None when it cannot be read."""
    data = see.host.read_bytes(DEVICE)
    return struct.unpack("=i", data)[0] if data is not None and len(data) == 4 else None


def need_limit(see: View) -> None:
    """Raise CannotJudge where this user may not read the limit: there may be one in force."""
    if see.host.is_denied(DEVICE):
        see.cannot_tell(f"{DEVICE}: permission denied", "run as root")


def only_polls(see: View, core: int) -> bool:
    """Whether all states but polling are switched off for a core."""
    folder = f"{CPU}/cpu{core}/cpuidle"
    states = [name for name in see.names(folder) if name.startswith("state")]
    sleeping = [name for name in states if see.read(f"{folder}/{name}/name") != "POLL"]
    return bool(states) and all(see.read(f"{folder}/{name}/disable") == "1" for name in sleeping)
