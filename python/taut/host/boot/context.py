"""What forms of boot configuration need to know besides the items."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.core.cpus import CpuSet
from taut.host.boot.item import KernelParameter
from taut.host.situation import POLLS_ONLY, Role, Waiting, rest_of


@dataclass(frozen=True)
class BootContext:
    """What boot configuration depends on in a host. Read once, so that the forms are pure."""

    role: Role
    online: CpuSet
    cores: CpuSet
    """Cores that poll; on a KVM host, those that run the guest's virtual CPUs."""
    apart: CpuSet = ()
    """Cores that are set apart at the next boot, whoever they are for."""
    others: tuple[KernelParameter, ...] = ()
    """Lists of cores that the command line has from others than taut."""
    profile: str = "recommended"
    only: tuple[str, ...] = ()
    """Ids of the only checks or remedies that are wanted; empty: the whole profile."""
    waiting: frozenset[Waiting] = POLLS_ONLY
    """Whether programs on the cores poll or sleep: decides again at boot what helps them."""
    program: str = "/usr/bin/taut"
    """Absolute path of taut itself: units start it."""
    hold_us: int | None = None
    """The wake-up latency in us that a service holds; None: no service does."""
    cmdline: str = ""
    """The command line the machine boots with: /etc/kernel/cmdline, else /proc/cmdline."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """BLS entries (loader/entries/*.conf), by path."""
    tuned_folder: str = "/etc/tuned"
    """Where tuned looks for profiles: /etc/tuned/profiles since 2.23."""
    tuned_profiles: tuple[str, ...] = ()
    """Profiles that tuned has in force besides taut's, which ours replaces; none: it has none."""
    guest_memory_mib: int = 4096

    @property
    def housekeeping(self) -> CpuSet:
        """Cores that are online, and neither poll nor are set apart for somebody else."""
        return rest_of(self.online, self.cores, self.apart)
