"""What an audit is for: a role, the cores that poll, and what was seen while it watched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from taut.core.cpus import CpuSet
from taut.host.machine import Machine


class Role(StrEnum):
    """What a machine is used for; decides what is wanted of it (docs/host.md)."""

    POLL_CORE = "poll-core"  # bare metal that polls (B of the catalogue)
    HOUSEKEEPING = "housekeeping"  # nothing polls here (H)
    KVM_HOST = "kvm-host"  # runs pinned virtual CPUs (V)
    KVM_GUEST = "kvm-guest"  # inside a virtual machine (G)
    CONTAINER = "container"  # inside a container (C)


@dataclass(frozen=True)
class Watched:
    """Files read twice, some seconds apart, for checks that need a rate."""

    seconds: float = 0.0
    before: Mapping[str, str] = field(default_factory=dict)
    """By path; what was unreadable is not in it."""
    after: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TraceEvent:
    """One kernel event, as the trace buffer prints it."""

    core: int
    comm: str
    pid: int
    name: str  # tick_stop
    fields: str  # success=0 dependency=SCHED


@dataclass(frozen=True)
class Situation:
    """The same for all checks of one audit."""

    role: Role
    machine: Machine
    online: CpuSet
    cores: CpuSet
    """That poll, or shall: none where nobody said and nothing is isolated."""
    processes: tuple[int, ...] = ()
    """That poll there: taut's or other DPDK programs."""
    interfaces: tuple[str, ...] = ()
    """Network interfaces that carry the traffic; all physical ones where nobody said."""
    watched: Watched = field(default_factory=Watched)
    events: Sequence[TraceEvent] | None = None
    """Kernel events on the cores while it watched; None where nobody traced."""

    @property
    def housekeeping(self) -> CpuSet:
        """Online cores that do not poll."""
        return tuple(core for core in self.online if core not in self.cores)
