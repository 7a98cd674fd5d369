"""What forms of boot configuration must know besides the items."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.core.cpus import CpuSet
from taut.host.situation import Role


@dataclass(frozen=True)
class BootContext:
    """One host, as far as its boot configuration asks. Read once; the forms are pure."""

    role: Role
    online: CpuSet
    cores: CpuSet
    """That poll; of a KVM host, those that run the guest's virtual CPUs."""
    profile: str = "recommended"
    only: tuple[str, ...] = ()
    """Checks or remedies that alone are wanted; none: the whole profile."""
    program: str = "/usr/bin/taut"
    """Absolute path of taut itself: units start it."""
    hold_us: int | None = None
    """The wake-up latency a service holds; None: none does."""
    cmdline: str = ""
    """That the machine boots with: /etc/kernel/cmdline, else /proc/cmdline."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """BLS entries (loader/entries/*.conf), by path."""
    tuned_folder: str = "/etc/tuned"
    """Where tuned looks for profiles: /etc/tuned/profiles since 2.23."""
    guest_memory_mib: int = 4096

    @property
    def housekeeping(self) -> CpuSet:
        """Cores that are online and not among the polling ones."""
        return tuple(core for core in self.online if core not in self.cores)
