"""Which core does what: the generator and the device apart, everything else out of their way.

Three cores and more: core 0 is for the kernel, taut itself and the writer of records; generator and
device get cores of their own, isolated ones first, on two physical cores. Two cores: the generator
on the first, the device on the second; taut and the writer share the generator's, so that what they
disturb is logged as the generator's gaps and blamed on the instrument, not on the device.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError
from taut.experiment.model import CoreSpec
from taut.host.host import Host


@dataclass(frozen=True)
class Topology:
    """The cores this process may use."""

    usable: tuple[int, ...]
    isolated: tuple[int, ...] = ()
    siblings: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # of one physical core

    def are_siblings(self, one: int, other: int) -> bool:
        """Whether two cores are threads of one physical core."""
        return one != other and other in self.siblings.get(one, ())


@dataclass(frozen=True)
class Cores:
    """The assignment of a run, as trial.json says it."""

    generator: int
    device: int
    writer: int
    runner: int
    notes: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether the device has to share its core with the generator."""
        return self.generator == self.device

    def as_json(self) -> dict[str, object]:
        """Give the form of trial.json."""
        return {
            "generator": self.generator,
            "device": self.device,
            "writer": self.writer,
            "runner": self.runner,
            "shared": self.shared,
            "notes": list(self.notes),
        }


def read_topology(host: Host, usable: Iterable[int] | None = None) -> Topology:
    """Read the machine's cores; only those this process may run on, and isolated ones, count."""
    mine = set(os.sched_getaffinity(0) if usable is None else usable)
    # An isolated core is outside the process's mask unless somebody asked for it.
    cores = tuple(sorted(mine | set(host.isolated_cores())))
    siblings = {
        core: host.cores(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        for core in cores
    }
    return Topology(cores, host.isolated_cores(), siblings)


def assign_cores(asked: CoreSpec, topology: Topology) -> Cores:
    """Give every role a core; what was asked for is taken as it is."""
    for role, core in asked:
        if core != "auto" and core not in topology.usable:
            raise InputError(
                f"cores.{role}: core {core} cannot be used here; these can: "
                f"{format_cpu_list(topology.usable)}"
            )
    house = _housekeeping(asked, topology)
    taken = [core for core in (asked.generator, asked.device) if core != "auto"]
    free = _preferred(topology, house)
    generator = asked.generator if asked.generator != "auto" else _pick(free, taken, topology)
    device = asked.device if asked.device != "auto" else _pick(free, [*taken, generator], topology)
    runner = generator if house is None else house
    writer = asked.writer if asked.writer != "auto" else runner
    cores = Cores(generator, device, writer, runner)
    return Cores(generator, device, writer, runner, tuple(_notes(cores, topology)))


def _housekeeping(asked: CoreSpec, topology: Topology) -> int | None:
    """Find a core for taut itself; None where there are too few."""
    wanted = {asked.generator, asked.device}
    rest = [c for c in topology.usable if c not in wanted and c not in topology.isolated]
    return rest[0] if len(topology.usable) >= 3 and rest else None


def _preferred(topology: Topology, house: int | None) -> list[int]:
    cores = [core for core in topology.usable if core != house]
    return sorted(cores, key=lambda core: (core not in topology.isolated, core))


def _pick(free: list[int], taken: list[int], topology: Topology) -> int:
    """Take a core of another physical core, else another thread, else a core that is taken."""
    apart = [c for c in free if not any(c == t or topology.are_siblings(c, t) for t in taken)]
    other = [c for c in free if c not in taken]
    return next(iter(apart or other or free or taken))


def _notes(cores: Cores, topology: Topology) -> list[str]:
    notes = []
    if cores.shared:
        notes.append(
            f"too few cores: generator and device share core {cores.device}; latency is the "
            "scheduler's time slice, not the device's"
        )
    elif topology.are_siblings(cores.generator, cores.device):
        notes.append(
            f"generator and device are two threads of one physical core ({cores.generator}, "
            f"{cores.device}) and slow each other down"
        )
    if not cores.shared and cores.runner == cores.generator:
        notes.append(
            f"only {len(topology.usable)} cores: taut and the writer of records run on the "
            f"generator's core {cores.generator}; their stalls are logged as the generator's"
        )
    return notes
