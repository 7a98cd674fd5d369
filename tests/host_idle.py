"""Idle states of a machine, for trees."""

import struct

from taut.host.host import Host

DEVICE = "/dev/cpu_dma_latency"
NO_LIMIT = 2_000_000_000
STATES = (("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 133))


def idle_files(
    cores: int = 4, states: tuple[tuple[str, int], ...] = STATES, limit: str = "0"
) -> dict[str, str]:
    """Give cpuidle of some cores, and the limit of each."""
    files = {}
    for core in range(cores):
        folder = f"/sys/devices/system/cpu/cpu{core}"
        files[f"{folder}/power/pm_qos_resume_latency_us"] = f"{limit}\n"
        for number, (name, latency_us) in enumerate(states):
            files[f"{folder}/cpuidle/state{number}/name"] = f"{name}\n"
            files[f"{folder}/cpuidle/state{number}/latency"] = f"{latency_us}\n"
            files[f"{folder}/cpuidle/state{number}/disable"] = "0\n"
    return files


class HostOfUser(Host):
    """A machine on which only root may read what is held for all cores."""

    def read_bytes(self, path: str) -> bytes | None:
        return None if path == DEVICE else super().read_bytes(path)

    def is_denied(self, path: str) -> bool:
        return path == DEVICE or super().is_denied(path)


def held(limit_us: int) -> str:
    """Give what /dev/cpu_dma_latency reads."""
    return struct.pack("=i", limit_us).decode(errors="surrogateescape")
