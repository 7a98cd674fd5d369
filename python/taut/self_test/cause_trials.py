"""The self-test of causes: a poller disturbed, and what explain says of its gaps.

Each cause taut inject knows is made on purpose on one core while taut-trace records. Then explain
judges the poller's gaps and its verdicts are held against what was sent. First a control without
injection: what of these causes the machine makes by itself.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from taut.binaries import inject
from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError, InterruptedRun, MissingToolError, TautError
from taut.experiment import leftovers
from taut.explain import causes
from taut.explain.cause import Injector
from taut.explain.causes import CAUSES, OF_INJECTOR
from taut.host.fingerprint import hypervisor
from taut.host.host import Host
from taut.host.machine import OTHER_NUMBERS, has_own_numbers
from taut.records.documents.self_test import ConfusionDocument
from taut.report.paragraph import print_note
from taut.self_test.cause_report import Result, one_line
from taut.self_test.confusion import Confusion, as_document, confuse, merge
from taut.self_test.measurer import measurer_stall
from taut.self_test.recording import (
    ARMING_NS,
    THRESHOLD_NS,
    Place,
    record_cause,
    record_control,
)
from taut.testbed.core_locks import measuring_on
from taut.testbed.scope import RunScope

_RATE = 100
"""Acts a second by which the control's length is worked out."""
LEAST_NS = 2 * THRESHOLD_NS
"""Shorter gaps do not count."""

_MORE = 1.1
"""Some acts find no victim, and some come before the trace is armed."""


def made_here() -> tuple[str, ...]:
    """Name what makes the causes that need nothing but this machine, as taut-inject lists it."""
    return tuple(name for name in inject.causes() if name in OF_INJECTOR)


@contextmanager
def place_on(core: int) -> Iterator[Place]:
    """Make a place for the test; what it makes is gone afterwards, or at the next start."""
    if not set(cpuset_cores()) - {core}:
        raise InputError(f"--self-test: acts come from another core than {core}; there is none")
    if has_own_numbers(Host()):
        raise MissingToolError(f"--self-test: cannot trace: {OTHER_NUMBERS}")
    with measuring_on([core]), RunScope() as scope:
        # What could not be put back is no matter of this test: `taut doctor --clean` says it.
        leftovers.clean(scope.base, Host(), lambda _: None)
        folder = Path(tempfile.gettempdir()) / f"taut-self-test-{scope.id}"
        scope.make_temp(folder)
        yield Place(core, scope, folder, hypervisor(Host()) is not None)


def run(place: Place, n_acts: int, most_ns: int, names: Sequence[str], console: Console) -> Result:
    """Run control and causes."""
    load = os.getloadavg()[0]
    with console.status("control: nothing injected"):
        natural, seconds = _control(place, min(most_ns, _duration_ns(_RATE, n_acts)))
    found, failed = [], {}
    for name in names:
        with console.status(f"{name}: injecting") as status:
            try:
                one = run_cause(place, name, n_acts, most_ns, status.update)
            except InterruptedRun:
                raise
            except TautError as error:
                failed[name] = str(error)
                print_note(console, f"{name}: not proved: {error}")
                continue
        found.append(one)
        print_note(console, one_line(one))
    if not found:
        raise TautError("; ".join(f"{name}: {why}" for name, why in failed.items()))
    return Result(
        core=place.core,
        least_ns=LEAST_NS,
        control=natural,
        control_seconds=seconds,
        causes=tuple(found),
        not_proved=_not_proved(found, failed),
        load=(load, os.getloadavg()[0]),
    )


def _control(place: Place, duration_ns: int) -> tuple[dict[str, int], float]:
    """Count verdicts by cause while nothing is injected."""
    recording = record_control(place, duration_ns)
    verdicts = recording.verdicts
    cause = verdicts.cause[verdicts.spans.length_ns >= LEAST_NS]
    numbers, counts = np.unique(cause, return_counts=True)
    natural = {CAUSES[k].id: int(n) for k, n in zip(numbers, counts, strict=True)}
    return natural, recording.seconds


def run_cause(
    place: Place, name: str, n_acts: int, most_ns: int, say: Callable[[str], None]
) -> Confusion:
    """Inject one cause until so many acts were felt, or for so long.

    `name` is taut-inject's.
    """
    total: Confusion | None = None
    left_ns, seed = most_ns, 0
    while True:
        n_felt = 0 if total is None else total.n_felt
        duration_ns = min(left_ns, _duration_ns(_injector(name).per_s, n_acts - n_felt))
        say(f"{name}: {n_felt} of {n_acts} acts felt; {duration_ns / 1e9:.0f} s more")
        seed += 1
        one = _round(place, name, duration_ns, seed)
        total = one if total is None else merge(total, one)
        left_ns -= duration_ns
        if total.n_felt >= n_acts:
            return total
        if left_ns <= ARMING_NS or one.n_felt == 0:
            words = f"only {total.n_felt} of {n_acts} acts were felt in {total.seconds:.0f} s"
            return replace(total, notes=(*total.notes, words))


def _round(place: Place, name: str, duration_ns: int, seed: int) -> Confusion:
    cause, injector = OF_INJECTOR[name], _injector(name)
    if cause is causes.MEASURER:
        return measurer_stall(place, injector, duration_ns, seed)
    recording = record_cause(place, injector.act, injector.per_s, duration_ns, seed)
    found = confuse(cause, recording.acts, recording.verdicts, LEAST_NS, recording.window_ns)
    return replace(found, n_off_core=recording.n_off_core)


def _injector(name: str) -> Injector:
    found = OF_INJECTOR[name].made
    assert found is not None  # its row is listed because of it
    return found


def _duration_ns(per_s: int, n_acts: int) -> int:
    return ARMING_NS + round(_MORE * n_acts / per_s * 1e9)


def _not_proved(found: Sequence[Confusion], failed: Mapping[str, str]) -> dict[str, str]:
    """Give every verdict that this test did not check, and why."""
    proved = {OF_INJECTOR[one.cause] for one in found}
    return {
        cause.id: failed.get(cause.made.name, "not asked for") if cause.made else cause.not_made
        for cause in CAUSES
        if cause not in proved
    }


def cause_documents(result: Result) -> tuple[ConfusionDocument, ...]:
    """Give the form of the self-test's document."""
    return tuple(as_document(one, result.natural(one)) for one in result.causes)
