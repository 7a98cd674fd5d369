"""The plan: every trial of an experiment, in the order it will run, with its own seed.

Order "interleaved": one repetition after the other, so that drift of the machine hits all devices
alike. Within a repetition the loads are shuffled by the stored seed and the devices of one load
stay together; every second repetition runs the first one's order backwards, which for two devices
is A B B A.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from taut.core.errors import InputError
from taut.core.units import parse_rate
from taut.experiment.model import (
    LOOPBACK,
    DeviceSpec,
    Frame,
    Record,
    Spec,
    Trace,
    TrafficSpec,
    mean_frame_len,
)

MAX_RECORDED_PPS = 1_000_000
"""record = "auto" keeps every packet up to here: what the writer is sure to keep up with."""

MAX_CONTINUOUS_NS = 300_000_000_000
"""trace = "auto" keeps every event of trials up to here, and of longer ones those around spikes."""

OVERHEAD_NS = 2_000_000_000
"""Starting and stopping one trial's programs, for the first guess of the time left."""


@dataclass(frozen=True)
class Trial:
    """One device under one load, once."""

    index: int
    name: str  # the trial's folder
    device: DeviceSpec
    traffic: TrafficSpec
    frame: Frame
    rate: str
    repetition: int  # from 1
    seed: int  # of the schedule; the same for every device of this load and repetition
    offered_pps: float
    duration_ns: int  # without warm-up; of a count, the time it takes
    count: int | None
    warm_up_ns: int
    record: Record
    trace: Trace  # never "auto"
    why_not_traced: str  # empty where it is traced

    @property
    def expected_ns(self) -> int:
        """How long it takes, for the time left."""
        return self.warm_up_ns + self.duration_ns + OVERHEAD_NS


@dataclass(frozen=True)
class Plan:
    """All trials in order."""

    spec: Spec
    trials: tuple[Trial, ...]

    @property
    def total_ns(self) -> int:
        """About how long the whole run takes."""
        return sum(trial.expected_ns + self.spec.deadline_ns for trial in self.trials)

    def only(self, pattern: str) -> "Plan":
        """Keep the trials whose name holds a match; their names and seeds stay."""
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


def make_plan(spec: Spec) -> Plan:
    """Lay out the matrix and order it."""
    loads = [
        _load(spec, traffic, frame, rate)
        for traffic in spec.traffic
        for frame in traffic.frames
        for rate in traffic.rates
    ]
    ordered = list(_interleaved(spec, loads) if spec.order == "interleaved" else _listed(loads))
    # The folder's name orders trials, so all indices have one width.
    width = max(3, len(str(len(ordered) - 1)))
    trials = tuple(
        _trial(spec, index, load, device, repetition, width)
        for index, (load, device, repetition) in enumerate(ordered)
    )
    return Plan(spec, trials)


def _load(spec: Spec, traffic: TrafficSpec, frame: Frame, rate: str) -> _Load:
    devices = [device for device in spec.device if traffic.takes(device)]
    has_floor = spec.floor if traffic.floor is None else traffic.floor
    floors = _floors(devices) if has_floor else []
    n_repetitions = traffic.repetitions or spec.repetitions
    return _Load(traffic, frame, rate, n_repetitions, (*floors, *devices))


def _floors(devices: Sequence[DeviceSpec]) -> list[DeviceSpec]:
    """Give the loopback of every link kind that is used and has none yet."""
    have = {device.link for device in devices if device.driver == LOOPBACK}
    used = dict.fromkeys(device.link for device in devices)
    return [
        DeviceSpec(driver=LOOPBACK, name=f"loopback_{link}", link=link)
        for link in used
        if link not in have
    ]


_Step = tuple[_Load, DeviceSpec, int]


def _listed(loads: Sequence[_Load]) -> Iterator[_Step]:
    for load in loads:
        for repetition in range(1, load.n_repetitions + 1):
            for device in load.devices:
                yield load, device, repetition


def _interleaved(spec: Spec, loads: Sequence[_Load]) -> Iterator[_Step]:
    # Not for secrets: the same seed must give the same order.
    rng = random.Random(spec.seed)  # noqa: S311
    forwards: list[tuple[_Load, list[DeviceSpec]]] = []
    for repetition in range(1, max(load.n_repetitions for load in loads) + 1):
        if repetition % 2 == 1:
            forwards = [(load, rng.sample(load.devices, len(load.devices))) for load in loads]
            rng.shuffle(forwards)
            order = forwards
        else:
            order = [(load, devices[::-1]) for load, devices in forwards[::-1]]
        for load, devices in order:
            if repetition <= load.n_repetitions:
                for device in devices:
                    yield load, device, repetition


def _trial(
    spec: Spec, index: int, load: _Load, device: DeviceSpec, repetition: int, width: int
) -> Trial:
    traffic = load.traffic
    offered_pps = parse_rate(load.rate).pps(mean_frame_len(load.frame), traffic.rate_layer)
    duration_ns, count = _length(spec, traffic, offered_pps)
    label = f"{device.name}-{device.placement}-{traffic.name}_{load.frame}-{load.rate}"
    warm_up_ns = spec.warm_up_ns if traffic.warm_up_ns is None else traffic.warm_up_ns
    record = _record(traffic.record or spec.record, offered_pps * (2 if traffic.both else 1))
    trace, why_not_traced = _trace(traffic.trace or spec.trace, record, duration_ns)
    return Trial(
        index=index,
        name=f"{index:0{width}d}-{label.replace('/', '')}-r{repetition}",
        device=device,
        traffic=traffic,
        frame=load.frame,
        rate=load.rate,
        repetition=repetition,
        seed=derive_seed(spec.seed, traffic.name, str(load.frame), load.rate, str(repetition)),
        offered_pps=offered_pps,
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
    """Give the mode, and why it is off."""
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
