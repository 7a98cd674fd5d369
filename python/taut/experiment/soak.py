"""A soak: one device under one load for hours, without a break, and what is kept of it bounded.

It is a run of one trial. A length beyond a day, or whatever ended it before it was complete, makes
another trial of it, a new segment: a resumed soak measures what is missing in one.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from taut.core.errors import InputError
from taut.core.requirement import Requirement, parse_requirement, refuse_beyond
from taut.core.units import format_ns
from taut.experiment.fields import MAX_TRIAL_NS, Trace
from taut.experiment.model import DeviceSpec, Spec, TrafficSpec
from taut.experiment.plan import Bounded, Plan, Trial, floors, make_plan
from taut.experiment.room import sent_packets
from taut.experiment.rows import OnRow, Rows
from taut.experiment.runner import Session
from taut.records.documents.soak import SOAK_FOLDER, Row, SegmentStart
from taut.records.rows import failing, rows_say
from taut.records.segments import Kept, read_segments

EVERY_NS = 300_000_000_000
"""A row of VSPERF's soak (LTD)."""

SLOW_KEPT = 200_000
"""About so many of the slowest packets are recorded in a soak of any length, to be explained; up to
twice as many where stalls come often (tail_threshold.h)."""

MOST_KEPT = 2_000_000
"""No more records than that in a segment, whatever is lost or late: 96 MB while it runs."""

MOST_GAPS = 20_000_000
"""No more gaps of the device: 480 MB. They tell why packets were late, so there are as many as in
an hour at 5000 a second, or a day at 230. Fewer where the place has no room for them."""

LIMITS_NS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Packets slower than these are counted in every row, and than those that are required."""

_LEAST_NS = 1_000_000_000
"""A row is that long at least, and what is missing of a soak is measured where it is."""


@dataclass(frozen=True)
class Soak:
    """What is to be measured, and for how long."""

    spec: Spec
    device: DeviceSpec
    traffic: TrafficSpec
    planned_ns: int
    every_ns: int
    has_control: bool
    requirements: tuple[Requirement, ...]
    clean: tuple[Requirement, ...]

    @property
    def limits_ns(self) -> tuple[int, ...]:
        """Latencies above which packets are counted."""
        asked = (*self.requirements, *self.clean)
        own = {round(one.limit) for one in asked if one.what in ("p", "max")}
        own |= {one.deadline_ns for one in asked if one.deadline_ns is not None}
        return tuple(sorted(own | set(LIMITS_NS)))

    @property
    def strict_ns(self) -> frozenset[int]:
        """Those that are themselves too slow, as 1 ms is of `max < 1ms`."""
        asked = (*self.requirements, *self.clean)
        return frozenset(
            round(one.limit) for one in asked if one.what in ("p", "max") and one.is_strict
        )

    @property
    def subjects(self) -> list[DeviceSpec]:
        """What is measured, in order: the control first."""
        return [*(floors([self.device]) if self.has_control else ()), self.device]

    @property
    def n_planned(self) -> float:
        """How many packets the device is to get in all."""
        (trial,) = self.segment(self.device, 0, min(self.planned_ns, MAX_TRIAL_NS)).trials
        return trial.offered_pps * self.traffic.n_ways * self.planned_ns / 1e9

    def segment(self, device: DeviceSpec, index: int, length_ns: int) -> Plan:
        """Plan what is measured in one go, as a repetition of its own."""
        load = {"repetitions": index + 1, "floor": False, "devices": ("*",), "count": None}
        traffic = self.traffic.model_copy(update=load | {"duration_ns": length_ns})
        spec = self.spec.model_copy(update={"device": (device,), "traffic": (traffic,)})
        plan = make_plan(spec, first_index=index, repetitions=range(index + 1, index + 2))
        (trial,) = plan.trials
        # Of a short trial "auto" keeps all events, which nothing bounds.
        is_auto = spec.trace == "auto" and trial.trace != "off"
        trace: Trace = "tail" if is_auto else trial.trace
        return replace(plan, trials=(replace(trial, bounded=self.bounded(trial), trace=trace),))

    def bounded(self, trial: Trial) -> Bounded:
        """Bound the records by the whole length of the soak, not by that of a segment."""
        per_ns = sent_packets(trial) / (trial.warm_up_ns + trial.duration_ns)
        one_in = round(per_ns * self.planned_ns / SLOW_KEPT)
        room = trial.place.kind_options.gaps_most
        gaps = MOST_GAPS if room is None else min(MOST_GAPS, room)
        return Bounded(min(1_000_000, max(100, one_in)), MOST_KEPT, gaps)


def plan_soak(
    plan: Plan,
    planned_ns: int,
    every_ns: int = EVERY_NS,
    *,
    has_control: bool = False,
    clean: Sequence[Requirement] = (),
) -> Soak:
    """Make a soak of the one device and load of a plan; InputError: there are more, or none."""
    spec = plan.spec
    if spec.host:
        raise InputError("[[host]]: soak measures the host as it is; take it out of the file")
    for axis, members in (("placement", spec.placement), ("neighbour", spec.neighbour)):
        if len(members) > 1:
            raise InputError(f"[[{axis}]]: soak measures one; leave one in the file")
    found = {
        (trial.device.name, trial.traffic.name, trial.frame, trial.rate): trial
        for trial in plan.trials
        if not trial.device.is_floor
    }
    if len(found) != 1:
        names = ", ".join(trial.name for trial in list(found.values())[:2])
        raise InputError(
            f"soak: one device under one load is measured, the experiment has {len(found)}"
            + (f": {names}, ...; choose one: --only PATTERN" if found else "; add a device")
        )
    (trial,) = found.values()
    if (trial.traffic.record or spec.record) == "all":
        raise InputError(
            'soak: record = "all" takes a disk that grows with time; write "tail", or "none"'
        )
    if every_ns < _LEAST_NS:
        raise InputError("soak: --every: a row of less than a second; write 1s or more")
    if planned_ns < every_ns:
        raise InputError(
            "soak: --duration is shorter than one row; lengthen it, or shorten --every"
        )
    requirements = tuple(parse_requirement(text) for text in spec.require)
    _refuse_unsaid([*requirements, *clean])
    refuse_beyond([*requirements, *clean], spec.deadline_ns)
    one = trial.traffic.model_copy(update={"frames": (trial.frame,), "rates": (trial.rate,)})
    record = "none" if trial.record == "none" else "tail"
    # Of the file only what is measured: a resumed soak must be of the same device and load.
    return Soak(
        spec=spec.model_copy(
            update={"record": record, "device": (trial.device,), "traffic": (one,)}
        ),
        device=trial.device,
        traffic=one.model_copy(update={"record": None}),
        planned_ns=planned_ns,
        every_ns=every_ns,
        has_control=has_control,
        requirements=requirements,
        clean=tuple(clean) or requirements,
    )


def _refuse_unsaid(asked: Sequence[Requirement]) -> None:
    """InputError: a requirement of which rows say nothing."""
    for one in asked:
        if not rows_say(one):
            raise InputError(
                f"soak: {one.text}: rows count packets that are lost or slower than a limit, which "
                "does not show it; leave it out (of a file: --set 'require=[]'), `taut run` "
                "judges it"
            )


def left_ns(soak: Soak, device: DeviceSpec, kept: Sequence[Kept]) -> int:
    """Say how much of a device's soak is still to be measured."""
    done = sum(one.segment.measured_ns for one in kept if one.segment.start.device == device.name)
    left = soak.planned_ns - done
    return left if left >= _LEAST_NS else 0


def next_segment(soak: Soak, kept: Sequence[Kept], done: Set[str] = frozenset()) -> Plan | None:
    """Plan what is to be measured next; None: all is.

    `done`: names of whole trials. One that was interrupted at once has no segment, but its number.
    """
    index = len(kept) + len(done - {one.segment.start.trial for one in kept})
    for device in soak.subjects:
        left = left_ns(soak, device, kept)
        if left:
            return soak.segment(device, index, min(left, MAX_TRIAL_NS))
    return None


def refuse_new_limits(soak: Soak, run: Path, kept: Sequence[Kept]) -> None:
    """InputError: rows from before do not count packets above all that is asked for now."""
    rows = [row for one in kept for row in one.segment.rows]
    new = [ns for ns in soak.limits_ns if any(str(ns) not in row.above for row in rows)]
    if new:
        raise InputError(
            f"{run}: its rows do not count packets above {format_ns(new[0])}; resume with what "
            "[require], --require and --clean had when it began, or give another --out"
        )


def make_rows(soak: Soak, run: Path, on_row: OnRow, kept: Sequence[Kept]) -> Rows:
    """Make what takes the rows of a run's segments; it ends early what can no longer be met.

    `kept`: what was measured of it before.
    """
    doomed = Doomed(soak, kept)

    def told(start: SegmentStart, row: Row) -> str | None:
        return on_row(start, row) or (None if start.is_control else doomed.add(row))

    return Rows(run / SOAK_FOLDER, soak.every_ns, soak.limits_ns, told, soak.strict_ns)


def measure_soak(session: Session, soak: Soak, rows: Rows) -> None:
    """Measure segment after segment until all is measured, or one ended before its time."""
    run = session.run_directory
    while rows.stopped is None:
        done = {trial.name for trial in run.trials() if trial.is_whole}
        plan = next_segment(soak, read_segments(run.path), done)
        if plan is None:
            return
        session.run(plan)
        (trial,) = plan.trials
        found = [one for one in run.trials() if one.name == trial.name]
        if not found or not found[0].is_whole:
            return


class Doomed:
    """Says when a requirement cannot be met any more, however good all that comes will be.

    Packets that the generator itself held up are not counted: they are no fault of the device.
    """

    def __init__(self, soak: Soak, kept: Sequence[Kept]) -> None:
        self._n_planned = soak.n_planned
        self._requirements = soak.requirements
        self._failed = dict.fromkeys((one.text for one in soak.requirements), 0)
        for one in kept:
            for row in one.segment.rows if one.segment.start.device == soak.device.name else ():
                self.add(row)

    def add(self, row: Row) -> str | None:
        """Count a row; give the first requirement that is lost, in words."""
        for one in self._requirements:
            n = failing(one, row, own=True)
            if n is None:
                continue
            self._failed[one.text] += n
            if self._failed[one.text] > one.share_above * self._n_planned:
                return (
                    f"{one.text}: {self._failed[one.text]:,} packets failed, which no more "
                    "packets can make good"
                )
        return None
