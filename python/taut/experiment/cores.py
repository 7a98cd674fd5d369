"""Which core does what: the generator and the device apart, everything else out of their way.

The cpuset limits which cores may be used, not the affinity taut happened to be started with: a
shell that `taut host apply` moved may not use the very cores that were set apart. Cores set apart,
by an apply in force or at boot, are taken first: for the device, then for the generator.

Three cores and more: one is for the kernel, taut itself and the writer of records; generator and
device get cores of their own, on two physical cores. Two cores: the generator on one, the device
on the other; taut and the writer share the generator's, so that what they disturb is logged as the
generator's gaps and blamed on the instrument, not on the device. No helper works on a core that
another measurement uses.

Of cores that are equally good by this, those of one NUMA node are taken, over network cards those
of the cards' nodes: what lies on another node is further away, for each packet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from taut.core.cpus import CpuSet, cpuset_cores, format_cpu_list
from taut.core.errors import InputError
from taut.experiment.model import CoreSpec
from taut.host.apart import cores_apart
from taut.host.host import Host
from taut.records.documents.trial import CoresOfTrial


@dataclass(frozen=True)
class Topology:
    """The cores this process may use."""

    usable: CpuSet
    apart: Mapping[int, str] = field(default_factory=dict)
    """Cores set apart, each with the words for what set it apart."""
    siblings: Mapping[int, CpuSet] = field(default_factory=dict)
    """The threads of each core's physical core."""
    busy: frozenset[int] = frozenset()
    """Cores that another measurement uses."""
    nodes: Mapping[int, int] = field(default_factory=dict)
    """The NUMA node of each core, where the kernel tells."""
    cards: Mapping[str, int] = field(default_factory=dict)
    """The NUMA node of the network cards of `generator` and `device`, where they have some."""

    def are_siblings(self, one: int, other: int) -> bool:
        """Whether two cores are threads of one physical core."""
        return one != other and other in self.siblings.get(one, ())

    def nodes_of(self, cores: Iterable[int]) -> list[int]:
        """Give the NUMA nodes of cores, as far as they are known."""
        return sorted({self.nodes[core] for core in cores if core in self.nodes})

    def rank(self, core: int, node: int | None = None) -> tuple[bool, bool, bool, int]:
        """Order cores: set apart first, those of other measurements last, then by node."""
        is_far = self.nodes.get(core) != node
        return core in self.busy, core not in self.apart, is_far, core


@dataclass(frozen=True)
class Cores:
    """Which core has which role in a run; `document` is the form of trial.json."""

    generator: int
    device: int
    writer: int
    runner: int
    further: CpuSet = ()
    """Of a chain, cores of the hops after the first; where these are fewer, hops share cores."""
    notes: tuple[str, ...] = ()
    why: str = ""
    """In one line: which core does what, and why."""
    usable: CpuSet = ()
    """All cores that programs of the run may use."""
    others: CpuSet = ()
    """Those that neither measure nor are taut's own, or another measurement's: neighbours'."""

    @property
    def shared(self) -> bool:
        """Whether the device has to share its core with the generator."""
        return self.generator == self.device

    @property
    def measured(self) -> CpuSet:
        """The cores that no other measurement may use during the run."""
        return tuple(sorted({self.generator, self.device, *self.further}))

    @property
    def to_quiet(self) -> CpuSet:
        """The measured cores without taut's own: those a state of the host is applied to."""
        return tuple(core for core in self.measured if core not in (self.runner, self.writer))

    def of_device(self, n: int) -> CpuSet:
        """Give the cores of a device that polls on n of them, or fewer where there are too few."""
        return (self.device, *self.further)[:n]

    def document(self) -> CoresOfTrial:
        """Give the form of trial.json."""
        return CoresOfTrial(
            generator=self.generator,
            device=self.device,
            writer=self.writer,
            runner=self.runner,
            shared=self.shared,
            why=self.why,
            notes=self.notes,
        )


def read_topology(host: Host, usable: Iterable[int] | None = None) -> Topology:
    """Read the machine's cores; only those of this process' cpuset, and those set apart, count.

    `usable` replaces the cpuset's cores.
    """
    mine = set(cpuset_cores() if usable is None else usable)
    apart = cores_apart(host)
    # A core set apart may be outside the cpuset (a partition) or the default mask (isolcpus).
    cores = tuple(sorted(mine | set(apart)))
    siblings = {
        core: host.cores(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        for core in cores
    }
    return Topology(cores, apart, siblings, nodes=host.nodes())


def assign_cores(asked: CoreSpec, topology: Topology, n_hops: int = 1) -> Cores:
    """Give every role a core; cores asked for by number are kept. InputError: they cannot be.

    `n_hops`: cores that the device can use, a chain one for each hop.
    """
    for role, core in asked:
        if core != "auto" and core not in topology.usable:
            raise InputError(
                f"cores.{role}: core {core} cannot be used here; these can: "
                f"{format_cpu_list(topology.usable)}"
            )
    house = _housekeeping(asked, topology, n_hops)
    free = _preferred(asked, topology, house, n_hops)
    generator, device, further = _measured(asked, free, topology, n_hops)
    runner = generator if house is None else house
    writer = asked.writer if asked.writer != "auto" else runner
    cores = Cores(generator, device, writer, runner, further)
    if writer in cores.of_device(n_hops) and runner not in cores.measured:
        raise InputError(
            f"cores.writer: core {writer} is under test, and writing would disturb it; leave it "
            f"out (core {runner} then), or name another"
        )
    taken = {*cores.measured, runner, writer, *topology.busy}
    return replace(
        cores,
        usable=topology.usable,
        others=tuple(core for core in topology.usable if core not in taken),
        notes=tuple(_notes(cores, topology, n_hops)),
        why=_why(asked, cores, topology, n_hops),
    )


def _housekeeping(asked: CoreSpec, topology: Topology, n_hops: int) -> int | None:
    """Find a core for taut itself that nobody measures on; None where there are too few."""
    taken = {asked.generator, asked.device, *topology.apart, *topology.busy}
    rest = [core for core in topology.usable if core not in taken]
    # Two hops that take turns on one core wait for the scheduler: that is worse than no such core.
    if len(topology.usable) < n_hops + 2 or not rest:
        return None
    # Where the writer can have no core of its own, the one that was asked for is for both.
    is_tight = len(topology.usable) == n_hops + 2
    return min(rest, key=lambda core: (is_tight and core != asked.writer, core))


def _preferred(asked: CoreSpec, topology: Topology, house: int | None, n_hops: int) -> list[int]:
    """Order the cores: set apart first, those of other measurements last.

    The core asked for as the writer's is left out where generator and hops have others.
    """
    cores = [core for core in topology.usable if core != house]
    others = [core for core in cores if core != asked.writer]
    if len({*others} - topology.busy) > n_hops:
        cores = others
    return sorted(cores, key=topology.rank)


def _measured(
    asked: CoreSpec, free: list[int], topology: Topology, n_hops: int
) -> tuple[int, int, CpuSet]:
    """Choose for the generator, the device and its further hops, on as few nodes as possible."""

    def near(node: int | None) -> tuple[int, int, CpuSet]:
        generator, device = _pair(asked, free, topology, node)
        of_device = topology.cards.get("device", node)
        further = _further(free, [generator, device], n_hops - 1, topology, of_device)
        return generator, device, further

    choices = map(near, dict.fromkeys(topology.nodes.get(core) for core in free))
    return min(choices, key=lambda found: len(topology.nodes_of((*found[:2], *found[2]))))


def _pair(
    asked: CoreSpec, free: list[int], topology: Topology, node: int | None
) -> tuple[int, int]:
    """Choose for the device first where one core is better than the others."""
    of_generator, of_device = (topology.cards.get(role, node) for role in ("generator", "device"))
    taken = [core for core in (asked.generator, asked.device) if core != "auto"]
    generator, device = asked.generator, asked.device
    if device == "auto" and any(core in topology.apart for core in free):
        device = _pick(free, taken, topology, of_device)
        taken.append(device)
    if generator == "auto":
        generator = _pick(free, taken, topology, of_generator)
        taken.append(generator)
    if device == "auto":
        device = _pick(free, taken, topology, of_device)
    return generator, device


def _further(
    free: list[int], taken: list[int], n: int, topology: Topology, node: int | None
) -> CpuSet:
    """Take up to n cores that nothing measured has yet."""
    found: list[int] = []
    while len(found) < n and not {*free} <= {*taken, *found}:
        found.append(_pick(free, [*taken, *found], topology, node))
    return tuple(found)


def _pick(free: list[int], taken: list[int], topology: Topology, node: int | None) -> int:
    """Take a thread of a physical core not taken, else any free thread, else a taken core."""
    apart = [c for c in free if not any(c == t or topology.are_siblings(c, t) for t in taken)]
    other = [c for c in free if c not in taken]
    return min(apart or other or free or taken, key=lambda core: topology.rank(core, node))


def _is_crowded(topology: Topology, n_hops: int) -> bool:
    """Whether cores would be enough for taut to have its own, but for other measurements."""
    return len(topology.usable) >= n_hops + 2 and bool(topology.busy)


def _why(asked: CoreSpec, cores: Cores, topology: Topology, n_hops: int) -> str:
    """Say in one line which core does what, and why."""
    roles = [
        ("generator", cores.generator, asked.generator),
        ("device", cores.device, asked.device),
    ]
    words = []
    for role, core, named in roles:
        because = "as asked" if named != "auto" else topology.apart.get(core, "")
        words.append(f"{role} on core {core}" + (f" ({because})" if because else ""))
    if n_hops > 1:
        of_hops = cores.of_device(n_hops)
        plural = "s" if len(of_hops) > 1 else ""
        words.append(f"{n_hops} hops of a chain on core{plural} {format_cpu_list(of_hops)}")
    house = sorted({cores.runner, cores.writer})
    other = "third" if n_hops == 1 else "other"
    lacks = "no other is free" if _is_crowded(topology, n_hops) else f"there is no {other}"
    too_few = f" ({lacks})" if cores.runner in cores.measured else ""
    plural = "s" if len(house) > 1 else ""
    return f"{', '.join(words)}, taut itself on core{plural} {format_cpu_list(house)}{too_few}"


def _notes(cores: Cores, topology: Topology, n_hops: int) -> list[str]:
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
    notes += _node_notes(cores, topology, n_hops)
    if not cores.shared and cores.runner == cores.generator:
        n_cores = f"only {len(topology.usable)} cores"
        lacks = "others measure on the rest" if _is_crowded(topology, n_hops) else n_cores
        has_writer = cores.writer == cores.generator
        who = "taut and the writer of records run" if has_writer else "taut runs"
        notes.append(
            f"{lacks}: {who} on the generator's core {cores.generator}; their stalls are logged as "
            "the generator's"
        )
    of_hops = cores.of_device(n_hops)
    if cores.writer in of_hops and not cores.shared:
        notes.append(
            f"the writer of records runs on the device's core {cores.writer}: they take turns "
            "there, and what it takes is told as the device's"
        )
    if len(of_hops) < n_hops:
        notes.append(
            f"too few cores: the {n_hops} hops of a chain take turns on {len(of_hops)} "
            f"({format_cpu_list(of_hops)}); what a packet waits for is the scheduler's time slice "
            f"(milliseconds), not a hop; {n_hops + 1} cores give each its own"
        )
    return notes


def _node_notes(cores: Cores, topology: Topology, n_hops: int) -> Iterator[str]:
    for role, core in (("generator", cores.generator), ("device", cores.device)):
        node = topology.nodes.get(core)
        card = topology.cards.get(role, node)
        if node is not None and node != card:
            yield (
                f"the {role}'s core {core} is on NUMA node {node}, its network card on node "
                f"{card}: each packet crosses between them"
            )
    nodes = topology.nodes_of((cores.generator, *cores.of_device(n_hops)))
    if len(nodes) > 1 and not topology.cards:
        yield (
            f"generator and device are on NUMA nodes {' and '.join(map(str, nodes))}: each packet "
            "crosses between them"
        )
