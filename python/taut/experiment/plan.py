"""The plan: every trial of an experiment, in the order it will run, with its own seed.

Order "interleaved": one repetition after the other, so that drift of the machine hits everything
alike. What takes longest to change changes least often: within a repetition come the states of the
host, in each of them the placements, in each place the neighbours, beside each of them the loads,
under each load the devices; all shuffled by the stored seed.
Every second repetition runs the first one's order backwards, which for two states is A B B A.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise, product
from typing import NamedTuple

from taut.core.errors import InputError
from taut.core.units import offered_pps
from taut.experiment.fields import Frame, Record, Trace
from taut.experiment.model import DeviceSpec, Spec, TrafficSpec, mean_frame_len
from taut.experiment.neighbour_spec import NeighbourSpec
from taut.experiment.placed import PlacementSpec, places_of
from taut.host.state import FOUND, HostState
from taut.records.documents.load import LOOPBACK
from taut.testbed.links import LINKS

MAX_RECORDED_PPS = 1_000_000
"""record = "auto" keeps every packet up to this rate, with which the writer can keep up."""

MAX_CONTINUOUS_NS = 300_000_000_000
"""trace = "auto" keeps every event of trials up to here, and of longer ones those around spikes."""

OVERHEAD_NS = 1_200_000_000
"""Starting and stopping one trial's programs, for the first guess of the time left."""

NEIGHBOUR_NS = 1_500_000_000
"""Starting a neighbour and stopping it, for the same guess."""

STATE_NS = 1_500_000_000
"""Leaving one state of the host and entering another, for the same guess."""


class Bounded(NamedTuple):
    """How much is recorded of a long trial, however long: of its tail the slowest packets."""

    one_in: int
    """About one packet in so many."""
    most: int
    """Records, and gaps of the generator as well."""
    gaps: int
    """Gaps of each process of the device."""


@dataclass(frozen=True)
class Trial:
    """One device in one place under one load, in one state of the host, beside one neighbour."""

    index: int
    name: str  # the trial's folder
    host: HostState
    place: PlacementSpec
    neighbour: NeighbourSpec | None  # None: the experiment has no such axis
    device: DeviceSpec
    traffic: TrafficSpec
    frame: Frame
    rate: str
    repetition: int  # from 1
    seed: int  # for the schedule; the same for every device of this load and repetition
    offered_pps: float
    duration_ns: int  # without warm-up; for a count of packets, the time they take
    count: int | None
    warm_up_ns: int
    record: Record
    trace: Trace  # never "auto"
    why_not_traced: str  # empty where it is traced
    bounded: Bounded | None = None

    @property
    def n_measured(self) -> int:
        """How many packets each direction is to send, without warm-up."""
        return self.count or round(self.offered_pps * self.duration_ns / 1e9)

    @property
    def expected_ns(self) -> int:
        """How long the trial will take, for the guess of the time left."""
        beside = NEIGHBOUR_NS if self.has_neighbour else 0
        enter = self.place.placement.enter_ns
        return self.warm_up_ns + self.duration_ns + OVERHEAD_NS + enter + beside

    @property
    def has_neighbour(self) -> bool:
        """Whether somebody else is busy meanwhile."""
        return self.neighbour is not None and not self.neighbour.does.is_idle


@dataclass(frozen=True)
class Plan:
    """All trials in order."""

    spec: Spec
    trials: tuple[Trial, ...]

    @property
    def total_ns(self) -> int:
        """About how long the whole run takes."""
        changes = sum(a.host != b.host for a, b in pairwise(self.trials))
        trials = sum(trial.expected_ns + self.spec.deadline_ns for trial in self.trials)
        return trials + changes * STATE_NS

    def only(self, pattern: str) -> "Plan":
        """Keep the trials whose name holds a match; their names and seeds stay."""
        if not pattern:
            raise InputError("--only '': names no trial; --dry-run lists them")
        kept = tuple(t for t in self.trials if fnmatchcase(t.name, f"*{pattern}*"))
        if not kept:
            raise InputError(
                f"--only {pattern}: matches none of {len(self.trials)} trials, such as "
                f"{self.trials[0].name}; --dry-run lists them"
            )
        return replace(self, trials=kept)


@dataclass(frozen=True)
class _Load:
    traffic: TrafficSpec
    frame: Frame
    rate: str
    n_repetitions: int
    devices: tuple[DeviceSpec, ...]


def make_plan(
    spec: Spec,
    *,
    states: Sequence[HostState] | None = None,
    first_index: int = 0,
    repetitions: range | None = None,
) -> Plan:
    """Lay out the matrix and order it.

    An experiment whose course depends on what it measures (taut trim) plans part by part: only
    `repetitions` (from 1), numbered from `first_index` on, in the order of the whole; `states` of
    the host replace the file's.
    """
    if states is None:
        states = [host.state for host in spec.host]
    loads = [
        _load(spec, traffic, frame, rate)
        for traffic in spec.traffic
        for frame in traffic.frames
        for rate in traffic.rates
    ]
    devices = {device.name: device for load in loads for device in load.devices}
    places = places_of(spec.placement, tuple(devices.values()))
    axes = _Axes(states, places, spec.neighbour)
    if spec.order == "interleaved":
        steps = _interleaved(loads, axes, spec.seed)
    else:
        steps = _listed(loads, axes)
    ordered = [step for step in steps if repetitions is None or step.repetition in repetitions]
    # The folder's name orders trials, so all indices have one width.
    width = max(3, len(str(first_index + len(ordered) - 1)))
    trials = tuple(
        _trial(spec, index, step, width, named=bool(states))
        for index, step in enumerate(ordered, first_index)
    )
    return Plan(spec, trials)


def _load(spec: Spec, traffic: TrafficSpec, frame: Frame, rate: str) -> _Load:
    devices = [device for device in spec.device if traffic.takes(device)]
    n_repetitions = traffic.repetitions or spec.repetitions
    own = floors_of(spec, traffic, devices)
    return _Load(traffic, frame, rate, n_repetitions, (*own, *devices))


def unloaded(spec: Spec) -> list[str]:
    """Say which devices no load is for, as where --set narrows one: they are not measured."""
    return [
        f"device {device.name}: no [[traffic]] takes it, so it is not measured"
        for device in spec.device
        if not any(traffic.takes(device) for traffic in spec.traffic)
    ]


def untraced(plan: Plan) -> list[str]:
    """Say under which loads the trace of the tail that was asked for cannot be."""
    loads = dict.fromkeys(
        f"{trial.traffic.name} at {trial.rate}"
        for trial in plan.trials
        if trial.trace == "off" and (trial.traffic.trace or plan.spec.trace) == "tail"
    )
    return [
        f"traffic {load}: not traced, late packets will have no cause: trace = 'tail' keeps what "
        "surrounds recorded packets, and none are; say record = 'tail', or trace = 'continuous'"
        for load in loads
    ]


def on_hosts_programs(plan: Plan) -> list[DeviceSpec]:
    """Give the devices but those whose program each of their places has itself."""
    found = {}
    for trial in plan.trials:
        program = trial.device.driver_options.program
        if program is None or not trial.place.kind_options.has_program(program):
            found[trial.device.name] = trial.device
    return list(found.values())


def floors_of(spec: Spec, traffic: TrafficSpec, devices: Sequence[DeviceSpec]) -> list[DeviceSpec]:
    """Give the loopbacks that are measured beside devices under a load.

    Of a link that people wire for one of the two, only where the experiment asks for it.
    """
    if not (spec.floor if traffic.floor is None else traffic.floor):
        return []
    is_asked = traffic.floor is not None or "floor" in spec.model_fields_set
    return [one for one in floors(devices) if is_asked or not LINKS[one.link].is_card]


def floors(devices: Sequence[DeviceSpec]) -> list[DeviceSpec]:
    """Give the loopback of every link kind that is used and has none yet."""
    have = {device.link for device in devices if device.is_floor}
    used = dict.fromkeys(device.link for device in devices)
    return [
        DeviceSpec(driver=LOOPBACK, name=f"loopback_{link}", link=link)
        for link in used
        if link not in have
    ]


@dataclass(frozen=True)
class _Step:
    load: _Load
    device: DeviceSpec
    host: HostState
    place: PlacementSpec
    neighbour: NeighbourSpec | None
    repetition: int


@dataclass(frozen=True)
class _Axes:
    """In what and beside whom everything is measured; empty: the experiment has no such axis."""

    states: Sequence[HostState]
    places: Sequence[PlacementSpec]  # never empty: bare
    neighbours: Sequence[NeighbourSpec]

    def product(self) -> Iterator[tuple[HostState, PlacementSpec, NeighbourSpec | None]]:
        """Give every combination; the first axis changes least."""
        return product(self.states or (FOUND,), self.places, self.neighbours or (None,))

    def shuffled(self, rng: random.Random) -> "_Axes":
        """Draw for the axes that there are: without one, the others keep the order they had."""
        states = rng.sample(self.states, len(self.states)) if self.states else ()
        places = rng.sample(self.places, len(self.places)) if len(self.places) > 1 else self.places
        beside = rng.sample(self.neighbours, len(self.neighbours)) if self.neighbours else ()
        return _Axes(states, places, beside)


def _listed(loads: Sequence[_Load], axes: _Axes) -> Iterator[_Step]:
    """Order all trials as the file lists them."""
    for (host, place, neighbour), load in product(axes.product(), loads):
        for repetition in range(1, load.n_repetitions + 1):
            for device in filter(place.takes, load.devices):
                yield _Step(load, device, host, place, neighbour, repetition)


def _interleaved(loads: Sequence[_Load], axes: _Axes, seed: int) -> Iterator[_Step]:
    """Order all trials one repetition after the other, every second one backwards."""
    # Not for secrets: the same seed must give the same order.
    rng = random.Random(seed)  # noqa: S311
    forwards: list[_Step] = []
    for repetition in range(1, max(load.n_repetitions for load in loads) + 1):
        if repetition % 2 == 1:
            forwards = list(_shuffled(loads, axes, rng))
        for step in forwards if repetition % 2 == 1 else forwards[::-1]:
            if repetition <= step.load.n_repetitions:
                yield replace(step, repetition=repetition)


def _shuffled(loads: Sequence[_Load], axes: _Axes, rng: random.Random) -> Iterator[_Step]:
    """Order one repetition: devices of a load stay together, loads of a state of the host too.

    All states get the places, neighbours, loads and devices in one order: only the state differs.
    """
    order = [(load, rng.sample(load.devices, len(load.devices))) for load in loads]
    rng.shuffle(order)
    # Drawn last, so that an experiment without these axes keeps the order its seed gave before.
    around = axes.shuffled(rng).product()
    for (host, place, neighbour), (load, devices) in product(around, order):
        for device in filter(place.takes, devices):
            yield _Step(load, device, host, place, neighbour, repetition=1)


def _trial(spec: Spec, index: int, step: _Step, width: int, *, named: bool) -> Trial:
    """Make a trial; `named`: the state of the host is part of its name."""
    load, device, repetition = step.load, step.device, step.repetition
    traffic = load.traffic
    pps = offered_pps(load.rate, mean_frame_len(load.frame), traffic.rate_layer)
    duration_ns, count = _length(spec, traffic, pps)
    label = f"{device.name}-{step.place.name}-{traffic.name}_{load.frame}-{load.rate}"
    if named:
        label += f"-{step.host.name.replace(' ', '_')}"
    if step.neighbour is not None:
        label += f"-{step.neighbour.name}"
    warm_up_ns = spec.warm_up_of(traffic)
    record = _record(traffic.record or spec.record, pps * traffic.n_ways)
    trace, why_not_traced = _trace(traffic.trace or spec.trace, record, duration_ns)
    return Trial(
        index=index,
        name=f"{index:0{width}d}-{label.replace('/', '')}-r{repetition}",
        host=step.host,
        neighbour=step.neighbour,
        place=step.place,
        device=device,
        traffic=traffic,
        frame=load.frame,
        rate=load.rate,
        repetition=repetition,
        seed=derive_seed(spec.seed, traffic.name, str(load.frame), load.rate, str(repetition)),
        offered_pps=pps,
        duration_ns=duration_ns,
        count=count,
        warm_up_ns=warm_up_ns,
        record=record,
        trace=trace,
        why_not_traced=why_not_traced,
    )


def _length(spec: Spec, traffic: TrafficSpec, offered_pps: float) -> tuple[int, int | None]:
    """Take the load's own length, else the experiment's."""
    own = traffic.duration_ns is not None or traffic.count is not None
    duration_ns, count = (
        (traffic.duration_ns, traffic.count) if own else (spec.duration_ns, spec.count)
    )
    if count is not None:
        return round(count / offered_pps * 1e9), count
    return duration_ns or 0, None


def _record(asked: Record, pps: float) -> Record:
    if asked != "auto":
        return asked
    return "all" if pps <= MAX_RECORDED_PPS else "none"


def _trace(asked: Trace, record: Record, duration_ns: int) -> tuple[Trace, str]:
    """Give the mode, and why it is off (empty: it is on)."""
    if asked == "off":
        return "off", "not asked for"
    if record == "none" and asked != "continuous":
        return "off", "no packets are recorded; there is none to explain"
    if asked == "auto":
        return ("tail" if duration_ns > MAX_CONTINUOUS_NS else "continuous"), ""
    return asked, ""


def derive_seed(seed: int, *words: str) -> int:
    """Make an independent seed of 63 bits that depends on nothing but its arguments."""
    text = "\0".join([str(seed), *words])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
