"""A device that is stopped and started again in the middle of its measurement (RFC 6201)."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from taut.core.errors import InputError
from taut.core.units import format_ns
from taut.dut.driver import RunningDut
from taut.experiment.placed import PlacementSpec, places_of
from taut.records.convert import GapLog, begins_ns
from taut.records.documents.trial import BARE
from taut.testbed.links import LINKS

if TYPE_CHECKING:
    from taut.experiment.model import DeviceSpec, Spec, TrafficSpec
    from taut.experiment.plan import Trial

BEFORE = "before-restart-"
"""Begins the names of logs that the device wrote until then."""

START_NS = 1_000_000_000
"""For the generator to begin to send: a restart is timed from when it is started."""

_NAP_S = 0.5

Start = Callable[[], AbstractContextManager[RunningDut]]


def why_not(device: "DeviceSpec", tables: Sequence[PlacementSpec]) -> str | None:
    """Say why a device cannot be restarted under load; None: it can.

    `tables`: the places of the experiment's file.
    """
    if any(place.kind != BARE for place in places_of(tables, [device])):
        return "a device that has a placement is not restarted; leave its placement out"
    outlive = [kind.name for kind in LINKS.values() if kind.outlives_device]
    if device.link in outlive:
        return None
    return (
        f"over {device.link} the generator's end does not survive the device's; a device is "
        f"restarted over {' or '.join(outlive)}"
    )


def check(spec: "Spec", traffic: "TrafficSpec") -> None:
    """ValueError: a load restarts a device that cannot be, or in its warm-up."""
    if traffic.restart_ns is None:
        return
    where = f"traffic {traffic.name}: restart:"
    for device in spec.device:
        why = why_not(device, spec.placement)
        if why is not None and traffic.takes(device) and not device.is_floor:
            raise ValueError(f"{where} {device.name}: {why}")
    warm_up_ns = spec.warm_up_of(traffic)
    if traffic.restart_ns < warm_up_ns + START_NS:
        raise ValueError(
            f"{where} {format_ns(traffic.restart_ns)} after the generator is started it may be "
            f"warming up; restart {format_ns(warm_up_ns + START_NS)} after it, or later"
        )


def refuse_late(trials: Iterable["Trial"]) -> None:
    """InputError: a device would be restarted when nothing is measured any more."""
    for trial in trials:
        at_ns, end_ns = trial.traffic.restart_ns, trial.warm_up_ns + trial.duration_ns
        if at_ns is not None and at_ns >= end_ns:
            raise InputError(
                f"traffic {trial.traffic.name}: restart: {format_ns(at_ns)} is not while packets "
                f"are measured, until {format_ns(end_ns)}; restart earlier, or lengthen the trial"
            )


def logged_from_ns(trial: "Trial", raw: Path, logs: Sequence[GapLog]) -> int | None:
    """Say from when on a device that was restarted has a log of its gaps: the new one is all.

    None: it was not restarted, or keeps none.
    """
    return None if trial.traffic.restart_ns is None else begins_ns(raw, logs)


class Restartable:
    """A running device, entered once, that may be replaced by a new start of itself."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._context: AbstractContextManager[RunningDut] | None = None
        self._logs: list[Path] = []

    def __enter__(self) -> RunningDut:
        context = self._start()
        found = context.__enter__()
        self._context, self._logs = context, found.logs
        return found

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> bool | None:
        context, self._context = self._context, None
        return None if context is None else context.__exit__(kind, error, where)

    def restart_after(self, ns: int, is_measured: Callable[[], bool], core: int) -> RunningDut:
        """Wait so long, stop the device and start it; its logs so far are kept under other names.

        Where nothing is measured any more it is not waited for. The work is done on `core`, the
        device's own: nobody else has need of it meanwhile, and the generator is left alone.
        """
        end_ns = time.monotonic_ns() + ns
        while is_measured() and (left_ns := end_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _NAP_S))
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})
        try:
            self.__exit__(None, None, None)
            for path in filter(Path.exists, self._logs):
                path.rename(path.with_name(BEFORE + path.name))
            return self.__enter__()
        finally:
            os.sched_setaffinity(0, before)
