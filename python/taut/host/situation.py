"""What an audit judges by: the machine's role, its cores, their programs, and what was watched."""

from collections.abc import Collection, Mapping, Sequence
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


class Waiting(StrEnum):
    """What the programs on the cores do while no packet comes; decides what helps them."""

    POLLS = "polls"  # looks again at once, as DPDK does: its core never idles
    SLEEPS = "sleeps"  # is woken by an interrupt, as the kernel is: its core idles in between


POLLS_ONLY = frozenset({Waiting.POLLS})
"""What an audit assumes of the programs on the cores."""


def device_option(waiting: Collection[str]) -> str:
    """Give the option that tells `taut host` so; empty: it is what an audit assumes anyway."""
    return f" --device {','.join(sorted(waiting))}" if set(waiting) - POLLS_ONLY else ""


@dataclass(frozen=True)
class Watched:
    """Files read twice, some seconds apart, for checks that need a rate."""

    seconds: float = 0.0
    before: Mapping[str, str] = field(default_factory=dict)
    """Text by path; unreadable files are left out."""
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
    """What all checks of one audit judge by."""

    role: Role
    machine: Machine
    online: CpuSet
    cores: CpuSet
    """Cores that poll, or should; empty where nobody named any and none is isolated."""
    apart: CpuSet = ()
    """Cores that are isolated or have no tick, whoever they are for, but not by an apply alone."""
    processes: tuple[int, ...] = ()
    """Processes that poll on these cores: DPDK programs, taut's or others."""
    interfaces: tuple[str, ...] = ()
    """Network interfaces that carry the traffic; all physical ones where nobody named any."""
    are_for_guests: bool = False
    """Whether the cores are virtual CPUs' to have: somebody asked for the role kvm-host. A host of
    guests on which something is measured has that role, too, but cores for the measurement."""
    waiting: frozenset[Waiting] = POLLS_ONLY
    """Whether programs on the cores poll or sleep; both where a run has devices of both kinds."""
    watched: Watched = field(default_factory=Watched)
    events: Sequence[TraceEvent] | None = None
    """Kernel events on the cores while it watched; None where nobody traced."""

    @property
    def sleeps(self) -> bool:
        """Whether a program on the cores sleeps, so that a packet has to wake its core."""
        return Waiting.SLEEPS in self.waiting

    @property
    def polls(self) -> bool:
        """Whether a program on the cores polls; else interrupts are how packets get there."""
        return Waiting.POLLS in self.waiting

    @property
    def housekeeping(self) -> CpuSet:
        """Online cores that neither poll nor are set apart for somebody else (see `rest_of`)."""
        return rest_of(self.online, self.cores, self.apart)


def rest_of(online: CpuSet, cores: CpuSet, apart: CpuSet) -> CpuSet:
    """Give the cores for everything else; where all others are set apart, those all the same."""
    others = tuple(core for core in online if core not in cores)
    return tuple(core for core in others if core not in apart) or others
