"""Parts of an experiment that contradict each other: refused before anything is measured."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from taut.core.errors import InputError
from taut.core.requirement import parse_requirement, refuse_beyond
from taut.core.units import format_ns
from taut.core.words import did_you_mean
from taut.experiment import restart
from taut.experiment.fields import MAX_TRIAL_NS, Frame
from taut.experiment.placed import check_places
from taut.testbed.links import LINKS

if TYPE_CHECKING:
    from taut.experiment.model import DeviceSpec, Spec, TrafficSpec


def check(spec: "Spec") -> None:
    """ValueError: a part of an experiment does not go with another one."""
    refuse_two_lengths(spec.duration_ns, spec.count)
    _refuse_twice("device", [device.name for device in spec.device])
    _refuse_twice("host", [host.name for host in spec.host])
    _refuse_twice("neighbour", [neighbour.name for neighbour in spec.neighbour])
    _refuse_twice("placement", [placement.name for placement in spec.placement])
    check_places(spec.placement, spec.device)
    _refuse_twice("goal", [goal.name for goal in spec.goal])
    _refuse_overlapping(spec.traffic, spec.device)
    for kind in spec.links:
        if kind not in LINKS:
            raise ValueError(f"links.{kind}: unknown link{did_you_mean(kind, LINKS)}")
        if all(device.link != kind for device in spec.device):
            raise ValueError(
                f'links.{kind}: no device uses it; write link = "{kind}" in the [[device]] that is '
                "to, or leave the table out"
            )
    for traffic in spec.traffic:
        _refuse_unknown(traffic, spec.device)
        lengths = (traffic.duration_ns, traffic.count, spec.duration_ns, spec.count)
        if all(length is None for length in lengths):
            raise ValueError(f"traffic {traffic.name}: no length; give duration or count")
        _refuse_long(spec, traffic)
        restart.check(spec, traffic)
    _refuse_beyond_deadline(spec)


def refuse_two_lengths(duration_ns: int | None, count: int | None) -> None:
    """ValueError: a trial would end by both."""
    if duration_ns is not None and count is not None:
        raise ValueError("duration and count are both given; a trial ends by one of them")


def _refuse_unknown(traffic: "TrafficSpec", devices: Sequence["DeviceSpec"]) -> None:
    """Refuse a load that no device gets, and a device's name in it that is none's."""
    if not any(map(traffic.takes, devices)):
        raise ValueError(
            f"traffic {traffic.name}: devices {list(traffic.devices)} matches no device"
        )
    names = [device.name for device in devices]
    for name in traffic.devices:
        if name not in names and not set(name) & set("*?["):
            hint = did_you_mean(name, names)
            raise ValueError(f"traffic {traffic.name}: devices: no device {name!r}{hint}")


def _refuse_long(spec: "Spec", traffic: "TrafficSpec") -> None:
    """Refuse a count of packets that takes longer than a trial can."""
    is_own = traffic.duration_ns is not None or traffic.count is not None
    count = traffic.count if is_own else spec.count
    if count is not None and count / traffic.least_pps > MAX_TRIAL_NS / 1e9:
        raise ValueError(
            f"traffic {traffic.name}: {count} packets take longer than a day, which is the most a "
            "trial can take; send fewer, or faster"
        )


def _refuse_beyond_deadline(spec: "Spec") -> None:
    """Refuse to ask of latencies that a trial takes for losses."""
    for goal in spec.goal:
        if goal.within_ns is not None and goal.within_ns > spec.deadline_ns:
            raise ValueError(
                f"goal {goal.name}: what takes longer than the deadline of "
                f"{format_ns(spec.deadline_ns)} counts as lost; lengthen it, or shorten within"
            )
    try:
        refuse_beyond(map(parse_requirement, spec.require), spec.deadline_ns)
    except InputError as error:
        raise ValueError(f"require: {error}") from None


def _refuse_twice(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two of {what} are called {name!r}; give each its own name")


def _refuse_overlapping(tables: Sequence["TrafficSpec"], devices: Sequence["DeviceSpec"]) -> None:
    """Refuse tables of one name that differ in how packets leave, or that repeat a load."""
    first: dict[str, TrafficSpec] = {}
    seen: dict[tuple[str, Frame, float, str], str] = {}
    for table in tables:
        if _sort_of(first.setdefault(table.name, table)) != _sort_of(table):
            raise ValueError(f"two of traffic are called {table.name!r}; give each its own name")
        names = [device.name for device in devices if table.takes(device)]
        for frame, rate, name in product(table.frames, table.rates, names):
            load = (table.name, frame, table.pps_of(frame, rate), name)
            before = seen.get(load)
            if before is not None:
                as_well = "" if before == rate else f", once as {before}"
                raise ValueError(
                    f"traffic {table.name}: {name} gets {frame} B at {rate} twice{as_well}"
                )
            seen[load] = rate


def _sort_of(table: "TrafficSpec") -> tuple[object, ...]:
    return table.schedule, table.options, table.flows, table.both, table.rate_layer
