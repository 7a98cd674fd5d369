"""What is searched: devices under loads, for goals, between two limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10

from taut.core.errors import InputError
from taut.core.units import format_ns, offered_pps
from taut.experiment.bisection import Limits, describe_goal
from taut.experiment.fields import Frame
from taut.experiment.goals import DEFAULT_GOALS, GoalSpec
from taut.experiment.model import DeviceSpec, Spec, TrafficSpec, mean_frame_len
from taut.experiment.neighbour_spec import refuse_in_turn
from taut.experiment.placed import refuse_places_in_turn
from taut.experiment.plan import floors_of
from taut.records.documents.search import Goal

FLOOR_WIDTH, FLOOR_TRIALS = 0.05, 3
"""How near the loopback's bounds come to each other, and by how many trials a load is judged."""

_DIGITS = 7
"""Of a rate that is sent: far finer than any width, and short enough to name a folder."""


@dataclass(frozen=True)
class Subject:
    """One device under one load; the loopback is one, too."""

    device: DeviceSpec
    traffic: TrafficSpec
    frame: Frame

    @property
    def words(self) -> str:
        """Name it as progress does."""
        return f"{self.device.name}, {self.traffic.name} {self.frame}"

    def at(self, rate: str, duration_ns: int) -> TrafficSpec:
        """Give its load at one rate, for so long."""
        own = {"frames": (self.frame,), "rates": (rate,), "duration_ns": duration_ns, "count": None}
        return self.traffic.model_copy(update=own)


@dataclass(frozen=True)
class Load:
    """A load without its rate: the devices that get it, and the loopbacks of their links."""

    subjects: tuple[Subject, ...]
    floors: tuple[Subject, ...]


def to_search(spec: Spec) -> tuple[list[Load], tuple[Goal, ...]]:
    """Give loads and goals of a search. InputError: as those, or trials without a packet."""
    loads, goals = loads_of(spec), goals_of(spec)
    refuse_empty_trials(spec, loads, goals)
    return loads, goals


def goals_of(spec: Spec) -> tuple[Goal, ...]:
    """Give the goals of an experiment; ndr and pdr where it says none."""
    return tuple(describe_goal(goal) for goal in spec.goal or DEFAULT_GOALS)


def loads_of(spec: Spec) -> list[Load]:
    """Lay out what is searched, each device under each load once, whatever its rates.

    InputError: nothing, no room between the limits, or what a search has no use for.
    """
    _refuse_useless(spec)
    found = []
    for traffic in spec.traffic:
        devices = [device for device in spec.device if traffic.takes(device)]
        own = [*floors_of(spec, traffic, devices), *(d for d in devices if d.is_floor)]
        for frame in traffic.frames:
            subjects = tuple(Subject(d, traffic, frame) for d in devices if not d.is_floor)
            found.append(Load(subjects, tuple(Subject(d, traffic, frame) for d in own)))
    for load in found:
        for subject in load.subjects:
            limits_of(spec, subject)
    if not any(load.subjects for load in found):
        raise InputError("nothing to search: the experiment has no device but the loopback")
    return _each_once(found)


def _refuse_useless(spec: Spec) -> None:
    """InputError: the experiment has what a search has no use for."""
    if spec.host:
        raise InputError("[[host]]: search measures the host as it is; take it out of the file")
    if spec.require:
        raise InputError(
            "[require]: asked of every load, and a search looks for those that fail; leave it out: "
            "--set 'require=[]'"
        )
    for traffic in spec.traffic:
        if traffic.restart_ns is not None:
            raise InputError(
                f"[[traffic]] {traffic.name}: restart: not for a search, and `taut rfc` restarts "
                "devices in a test of its own; take it out of the file"
            )
    refuse_in_turn(spec.neighbour, "search")
    refuse_places_in_turn(spec.placement, spec.device, "search")


def _each_once(loads: Sequence[Load]) -> list[Load]:
    """Leave out what another table of the same name has: trials of both would be the same ones."""
    known: dict[tuple[str, ...], TrafficSpec] = {}
    found = []
    for load in loads:
        subjects = tuple(subject for subject in load.subjects if _is_new(subject, known))
        if subjects or not load.subjects:
            found.append(replace(load, subjects=subjects))
    return found


def _is_new(subject: Subject, known: dict[tuple[str, ...], TrafficSpec]) -> bool:
    """InputError: it is known with a load that differs in more than what a search sets itself."""
    traffic = subject.traffic
    first = known.setdefault((subject.device.name, traffic.name, str(subject.frame)), traffic)
    set_here = {"rates", "frames", "devices"}
    if first.model_dump(exclude=set_here) != traffic.model_dump(exclude=set_here):
        raise InputError(
            f"[[traffic]] {traffic.name}: {subject.device.name} gets {subject.frame} B of two "
            "tables of this name, which differ in more than rates; give one another name"
        )
    return first is traffic


def refuse_empty_trials(spec: Spec, loads: Sequence[Load], goals: Sequence[Goal]) -> None:
    """InputError: at the lowest load no packet is due in the shortest trial, so nothing shows."""
    shortest_ns = min(goal.initial_trial_duration_ns for goal in goals)
    for subject in (one for load in loads for one in (*load.subjects, *load.floors)):
        if limits_of(spec, subject).min_pps * shortest_ns < 1e9:
            raise InputError(
                f"search: min {spec.search.least} sends less than a packet in a trial of "
                f"{format_ns(shortest_ns)}; raise it, or lengthen trials"
            )


def is_max_given(spec: Spec) -> bool:
    """Whether the experiment says the highest load; else it is the default of a search."""
    return "most" in spec.search.model_fields_set


def refuse_no_medium(spec: Spec, loads: Sequence[Load]) -> None:
    """InputError: neither a loopback nor the experiment says the most that can be sent."""
    for load in loads:
        measured = {floor.device.link for floor in load.floors}
        for device in (subject.device for subject in load.subjects):
            if device.link not in measured and not is_max_given(spec):
                raise InputError(
                    f"{device.name}: no loopback over {device.link} says the most that can be "
                    'sent; give the medium\'s rate, as --max 10Gbps with rate_layer = "l1" in '
                    "[[traffic]]"
                )


def floor_goal(goals: Sequence[Goal]) -> Goal:
    """Give the goal that bounds the devices' loads: no loss over the loopback."""
    trial_ns = max(goal.final_trial_duration_ns for goal in goals)
    return replace(
        describe_goal(GoalSpec(name="ndr")),
        relative_width=max(FLOOR_WIDTH, *(goal.relative_width for goal in goals)),
        initial_trial_duration_ns=trial_ns,
        final_trial_duration_ns=trial_ns,
        duration_sum_ns=FLOOR_TRIALS * trial_ns,
    )


def limits_of(spec: Spec, subject: Subject) -> Limits:
    """Give the loads asked for, in packets per second. InputError: they leave nothing between."""
    length, layer = mean_frame_len(subject.frame), subject.traffic.rate_layer
    least = offered_pps(spec.search.least, length, layer)
    most = offered_pps(spec.search.most, length, layer)
    if least >= most:
        raise InputError(
            f"search: min {spec.search.least} is not below max {spec.search.most} with frames of "
            f"{subject.frame}; lower min"
        )
    return Limits(least, most, spec.search.limit_ns / 1e9)


def rate_text(pps: float) -> str:
    """Spell a load as it is sent, and names its folder: seven digits."""
    decimals = min(6, max(0, _DIGITS - 1 - floor(log10(pps))))
    text = f"{pps:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text}pps"
